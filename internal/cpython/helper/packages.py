"""Lists the distributions in the given directories as one line of JSON."""

import importlib.metadata
import json
import sys


def import_names(dist: importlib.metadata.Distribution) -> list[str]:
    """Names the top-level modules of a distribution."""
    declared = dist.read_text("top_level.txt")
    if declared:
        return sorted(set(declared.split()))
    names = set()
    for file in dist.files or []:
        if file.suffix in (".py", ".so", ".pyd"):
            names.add(file.parts[0] if len(file.parts) > 1 else file.name.split(".")[0])
    return sorted(name for name in names if name.isidentifier())


def describe(dist: importlib.metadata.Distribution) -> dict[str, object]:
    """Describes one distribution; a broken one raises whatever it likes."""
    name, version = dist.metadata["Name"], dist.metadata["Version"]
    if not name or not version:
        raise ValueError("no metadata")
    return {"name": name, "version": version, "import_names": import_names(dist)}


def packages(path: list[str]) -> list[dict[str, object]]:
    """Lists what can be imported from `path`, the first of each name."""
    found: dict[str, dict[str, object]] = {}
    for dist in importlib.metadata.distributions(path=path):
        try:
            entry = describe(dist)
        except Exception:  # half-removed distributions are common and hide nothing else
            continue
        found.setdefault(str(entry["name"]).lower(), entry)
    return [found[name] for name in sorted(found)]


if __name__ == "__main__":
    print("\n" + json.dumps(packages(sys.argv[1:])))
