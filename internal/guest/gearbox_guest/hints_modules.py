"""What a program is told whose import failed: which package has the module, and what works instead.

The tables are data for people and models to act on. They grant nothing, and a name that is missing here is taken to be
the package's own.
"""

from __future__ import annotations

import os
import sys

from . import own

__builtins__ = own.BUILTINS  # type: ignore[assignment]

# Modules whose package on the Python Package Index has another name.
_PACKAGES = {
    "absl": "absl-py", "airflow": "apache-airflow", "allauth": "django-allauth",
    "apiclient": "google-api-python-client", "attr": "attrs", "Bio": "biopython", "bio": "biopython",
    "bs4": "beautifulsoup4", "cairo": "pycairo", "cassandra": "cassandra-driver", "community": "python-louvain",
    "confluent_kafka": "confluent-kafka", "corsheaders": "django-cors-headers", "Crypto": "pycryptodome",
    "Cryptodome": "pycryptodomex", "cv2": "opencv-python", "dateutil": "python-dateutil", "decouple": "python-decouple",
    "discord": "discord.py", "docx": "python-docx", "dotenv": "python-dotenv", "ebooklib": "EbookLib",
    "editor": "python-editor", "elasticsearch_dsl": "elasticsearch-dsl", "engineio": "python-engineio",
    "faiss": "faiss-cpu", "fitz": "PyMuPDF", "flask_cors": "Flask-Cors", "flask_sqlalchemy": "Flask-SQLAlchemy",
    "genai": "google-genai", "gi": "PyGObject", "git": "GitPython", "github": "PyGithub",
    "gitlab": "python-gitlab", "googleapiclient": "google-api-python-client", "grpc": "grpcio", "haystack": "haystack-ai",
    "igraph": "python-igraph", "imblearn": "imbalanced-learn", "IPython": "ipython",
    "jose": "python-jose", "jwt": "PyJWT", "kafka": "kafka-python", "keras_preprocessing": "Keras-Preprocessing",
    "Levenshtein": "python-Levenshtein", "llama_index": "llama-index", "lxml_html_clean": "lxml-html-clean",
    "magic": "python-magic", "markdown": "Markdown", "memcache": "python-memcached", "mpl_toolkits": "matplotlib",
    "mysql": "mysql-connector-python", "MySQLdb": "mysqlclient", "nacl": "PyNaCl", "OpenGL": "PyOpenGL",
    "OpenSSL": "pyOpenSSL", "osgeo": "GDAL", "paho": "paho-mqtt", "past": "future", "PIL": "Pillow", "pil": "Pillow",
    "pkg_resources": "setuptools", "playhouse": "peewee", "pptx": "python-pptx", "psycopg2": "psycopg2-binary",
    "pwn": "pwntools", "pylab": "matplotlib", "pythoncom": "pywin32",
    "rest_framework": "djangorestframework", "ruamel": "ruamel.yaml", "sentence_transformers": "sentence-transformers",
    "serial": "pyserial", "skimage": "scikit-image", "sklearn": "scikit-learn", "skopt": "scikit-optimize",
    "slugify": "python-slugify", "snappy": "python-snappy", "socketio": "python-socketio", "socks": "PySocks",
    "speech_recognition": "SpeechRecognition", "stdnum": "python-stdnum", "surprise": "scikit-surprise",
    "telegram": "python-telegram-bot", "tlz": "toolz", "umap": "umap-learn", "usb": "pyusb",
    "vlc": "python-vlc", "webdriver_manager": "webdriver-manager", "websocket": "websocket-client",
    "wx": "wxPython", "Xlib": "python-xlib", "xlsxwriter": "XlsxWriter", "yaml": "PyYAML", "zmq": "pyzmq",
}  # fmt: skip

# Packages whose names are nearly those of modules of the standard library.
_NAMESAKES = frozenset(
    """
    contextlib2 enum34 glob2 hjson html5lib ipaddr jsons pathlib2 pickle5 pyjson rjson simplejson
    tomli typing_extensions ujson unicodedata2 urllib3 zipfile36
    """.split()
)

# Packages below a name that several share.
_SHARED = {
    "azure.identity": "azure-identity", "azure.storage.blob": "azure-storage-blob",
    "google.api_core": "google-api-core", "google.auth": "google-auth", "google.cloud.bigquery": "google-cloud-bigquery",
    "google.cloud.storage": "google-cloud-storage", "google.cloud.firestore": "google-cloud-firestore",
    "google.genai": "google-genai", "google.generativeai": "google-generativeai",
    "google.oauth2": "google-auth", "google.protobuf": "protobuf", "ruamel.yaml": "ruamel.yaml", "zope.interface": "zope.interface",
}  # fmt: skip

# What left the standard library, and what took its place.
_REMOVED = {
    "asynchat": "use asyncio", "asyncore": "use asyncio", "audioop": "compute on the samples with array or struct",
    "binhex": "use binascii or base64", "cgi": "use urllib.parse and email.message", "cgitb": "use traceback",
    "chunk": "read the chunks with struct", "commands": "use subprocess", "ConfigParser": "use configparser",
    "cPickle": "use pickle", "crypt": "use hashlib.scrypt or hashlib.pbkdf2_hmac", "cStringIO": "use io.StringIO",
    "distutils": "use setuptools where it is installed, or sysconfig and shutil", "formatter": "use textwrap",
    "HTMLParser": "use html.parser", "httplib": "use http.client", "imghdr": "look at the first bytes of the file",
    "imp": "use importlib", "lib2to3": "use ast", "mailcap": "use mimetypes", "msilib": "it was for Windows only",
    "nis": "nothing took its place", "nntplib": "nothing took its place", "ossaudiodev": "nothing took its place",
    "parser": "use ast", "pipes": "use subprocess and shlex.quote", "Queue": "use queue", "sets": "use set",
    "smtpd": "nothing took its place", "sndhdr": "look at the first bytes of the file", "spwd": "nothing took its place",
    "StringIO": "use io.StringIO", "sunau": "use wave", "symbol": "use ast", "telnetlib": "use socket",
    "Tkinter": "use tkinter", "urllib2": "use urllib.request", "urlparse": "use urllib.parse",
    "uu": "use binascii or base64", "xdrlib": "use struct",
}  # fmt: skip

_ELSEWHERE = ("msvcrt", "winreg", "winsound", "_winapi", "nt", "_scproxy")

_NO_INSTALL = "packages cannot be installed in this version"


def missing(name: str, asked: tuple[str, ...], workspace: str) -> str:
    """Tell about a module that was not found. asked are the dotted names that the importing code has."""
    top = name.partition(".")[0]
    if top in _REMOVED:
        return f"{top} is no longer in the standard library of Python {_python()}: {_REMOVED[top]}"
    if top in _ELSEWHERE:
        return f"{top} exists on another operating system only; this is {sys.platform}"
    if _is_library(top):
        return _absent_part(name, top)
    full, package = _package(name, asked)
    if full == name != top and package == top and top in sys.modules:
        return f"{top} is there, but it has no module {name}"
    if package == top and top not in _NAMESAKES:
        meant = _near(top, workspace)
        if meant:
            return f"there is no module {top}; did you mean {meant}?"
    return install(package, f"{full} is in the package {package}, which" if package != full else package)


def install(package: str, subject: str) -> str:
    """Say that something is not there for want of a package."""
    return (
        f"{subject} is not installed, and {_NO_INSTALL}. Use what is there (list_packages shows it), or ask the operator "
        f"to start the server with --python ENV, an environment that has {package}"
    )


def _absent_part(name: str, top: str) -> str:
    """A module of the standard library can lack in a build; a submodule that never was can be asked for."""
    if name != top:
        return f"the standard library has {top}, but no {name}"
    return f"the module {top} is not part of this build of Python, and {_NO_INSTALL}"


def _package(name: str, asked: tuple[str, ...]) -> tuple[str, str]:
    """Find the package of a module, and the name of the module that tells it from others of the same beginning."""
    for full in (name, *asked):
        for known, package in _SHARED.items():
            if full == known or full.startswith(known + "."):
                return known, package
    top = name.partition(".")[0]
    return name, _PACKAGES.get(top, top)


def _is_library(top: str) -> bool:
    return top in sys.stdlib_module_names


def _near(top: str, workspace: str) -> str:
    """Find a module of the standard library or of the workspace whose name is nearly this one."""
    import difflib  # paid for only by a program that failed

    try:
        files = sorted(os.listdir(workspace))[:1000]
    except OSError:
        files = []
    own = [f[:-3] for f in files if f.endswith(".py")]
    known = [*own, *(m for m in sys.stdlib_module_names if not m.startswith("_"))]
    lowered = {m.lower(): m for m in reversed(known)}
    if top.lower() in lowered:
        return lowered[top.lower()]
    found = difflib.get_close_matches(top, known, 1, 0.84)
    return found[0] if found else ""


def _python() -> str:
    return ".".join(str(n) for n in sys.version_info[:2])
