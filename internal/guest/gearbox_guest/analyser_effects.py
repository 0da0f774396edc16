"""Which calls touch files, the network and programs, and where their target stands.

Data only; names are written as in :mod:`analyser_tables`.
"""

from __future__ import annotations

from .analyser_tables import words as _words

# --- Files -----------------------------------------------------------------------------------------

OPENERS = {
    "builtins.open": 1,
    "bz2.open": 1,
    "codecs.open": 1,
    "gzip.open": 1,
    "io.FileIO": 1,
    "bz2.BZ2File": 1,
    "gzip.GzipFile": 1,
    "io.open": 1,
    "lzma.LZMAFile": 1,
    "lzma.open": 1,
    "tarfile.open": 1,
    "zipfile.ZipFile": 1,
}
"""Functions that open their first argument, with the place of the mode."""

READERS: dict[str, tuple[int, ...]] = {
    name: (0,)
    for name in _words(
        "configparser.ConfigParser().read fileinput.input glob.glob glob.iglob imageio.imread io.open_code linecache.getline "
        "linecache.getlines numpy.fromfile numpy.genfromtxt numpy.load numpy.loadtxt os.listdir os.open os.readlink "
        "os.scandir os.walk pandas.read_csv pandas.read_excel pandas.read_feather pandas.read_fwf pandas.read_hdf "
        "pandas.read_html pandas.read_json pandas.read_orc pandas.read_parquet pandas.read_pickle pandas.read_sas "
        "pandas.read_stata pandas.read_table pandas.read_xml PIL.Image.open polars.read_csv polars.read_json "
        "polars.read_parquet runpy.run_path shutil.copytree shutil.copy shutil.copy2 shutil.copyfile shutil.unpack_archive "
        "tokenize.open xml.etree.ElementTree.parse"
    )
}
WRITERS: dict[str, tuple[int, ...]] = {
    name: (0,)
    for name in _words(
        "numpy.save numpy.savetxt numpy.savez numpy.savez_compressed os.chmod os.chown os.makedirs "
        "os.mkdir os.mkfifo os.remove os.removedirs os.rmdir os.truncate os.unlink os.utime shutil.make_archive "
        "shutil.rmtree sqlite3.connect dbm.open shelve.open logging.FileHandler matplotlib.pyplot.savefig"
    )
}
WRITERS.update({name: (0, 1) for name in ("os.rename", "os.replace", "shutil.move")})
WRITERS.update(
    {name: (1,) for name in ("os.link", "os.symlink", "shutil.copy", "shutil.copy2", "shutil.copyfile")}
)
WRITERS["shutil.copytree"] = (1,)

PATH_MAKERS = frozenset(
    _words("pathlib.Path pathlib.PosixPath pathlib.PurePath pathlib.PurePosixPath os.path.join")
)
PATH_KEEPERS = frozenset(
    _words("os.path.abspath os.path.expanduser os.path.normpath os.path.realpath os.fspath builtins.str")
)
"""Functions that give the path that they were given, as far as a permission goes."""

PATH_READS = frozenset(_words("glob iterdir read_bytes read_text rglob walk"))
PATH_WRITES = frozenset(
    _words("chmod hardlink_to mkdir rename replace rmdir symlink_to touch unlink write_bytes write_text")
)
TABLE_WRITES = frozenset(_words("to_csv to_excel to_feather to_hdf to_parquet to_pickle to_stata savefig"))
"""Methods of data frames and figures that write the path that is their first argument."""

# --- Network ---------------------------------------------------------------------------------------

VERBS = _words("delete get head options patch post put")
URL_CALLS = {f"{client}.{verb}": 0 for verb in VERBS for client in ("requests", "httpx")}
for _client in ("requests.Session()", "requests.session()", "httpx.Client()", "httpx.AsyncClient()"):
    URL_CALLS.update({f"{_client}.{verb}": 0 for verb in VERBS})
    URL_CALLS.update({f"{_client}.request": 1, f"{_client}.stream": 1})
URL_CALLS.update({f"aiohttp.ClientSession().{verb}": 0 for verb in [*VERBS, "ws_connect"]})
URL_CALLS.update(
    dict.fromkeys(_words("requests.request httpx.request httpx.stream aiohttp.request urllib3.request"), 1)
)
URL_CALLS.update({"aiohttp.ClientSession().request": 1, "urllib3.PoolManager().request": 1})
URL_CALLS.update(
    dict.fromkeys(
        _words(
            "urllib.request.urlopen urllib.request.Request urllib.request.urlretrieve urllib3.PoolManager().urlopen "
            "websockets.connect websockets.sync.client.connect websocket.create_connection xmlrpc.client.ServerProxy "
            "feedparser.parse sqlalchemy.create_engine redis.from_url redis.Redis.from_url pymongo.MongoClient "
            "psycopg.connect psycopg2.connect asyncpg.connect aiohttp.ClientSession httpx.Client httpx.AsyncClient "
            "pandas.read_csv pandas.read_json pandas.read_html pandas.read_excel pandas.read_parquet pandas.read_xml "
            "pandas.read_table polars.read_csv polars.read_json polars.read_parquet imageio.imread"
        ),
        0,
    )
)
"""Functions that connect to the address in the argument at this place."""

URL_KEYWORDS = ("url", "uri", "base_url", "dsn", "proxy")

HOST_CALLS = {
    "asyncio.get_event_loop().create_connection": (1, 2, 0),
    "asyncio.get_running_loop().create_connection": (1, 2, 0),
    "asyncio.new_event_loop().create_connection": (1, 2, 0),
    "asyncio.open_connection": (0, 1, 0),
    "ftplib.FTP": (0, -1, 21),
    "ftplib.FTP_TLS": (0, -1, 21),
    "ftplib.FTP().connect": (0, 1, 21),
    "http.client.HTTPConnection": (0, 1, 80),
    "http.client.HTTPSConnection": (0, 1, 443),
    "imaplib.IMAP4": (0, 1, 143),
    "imaplib.IMAP4_SSL": (0, 1, 993),
    "paramiko.SSHClient().connect": (0, 1, 22),
    "poplib.POP3": (0, 1, 110),
    "poplib.POP3_SSL": (0, 1, 995),
    "redis.Redis": (0, 1, 6379),
    "redis.StrictRedis": (0, 1, 6379),
    "smtplib.SMTP": (0, 1, 25),
    "smtplib.SMTP().connect": (0, 1, 25),
    "smtplib.SMTP_SSL": (0, 1, 465),
    "telnetlib.Telnet": (0, 1, 23),
}
"""Functions that connect to a host: place of the host, of the port, and the usual port."""

ADDRESS_CALLS = {
    "socket.create_connection": 0,
    "socket.socket().connect": 0,
    "socket.socket().connect_ex": 0,
    "socket.socket().sendto": -1,
}
"""Functions that connect to a pair of host and port."""

PORTS = {
    "amqp": 5672,
    "ftp": 21,
    "ftps": 990,
    "http": 80,
    "https": 443,
    "mongodb": 27017,
    "mysql": 3306,
    "postgres": 5432,
    "postgresql": 5432,
    "redis": 6379,
    "rediss": 6379,
    "ws": 80,
    "wss": 443,
}

# --- Programs --------------------------------------------------------------------------------------

SHELL_CALLS = frozenset(
    _words(
        "os.system os.popen posix.system subprocess.getoutput subprocess.getstatusoutput "
        "asyncio.create_subprocess_shell asyncio.subprocess.create_subprocess_shell"
    )
)
"""Functions whose first argument a shell reads."""

COMMAND_CALLS = frozenset(
    _words(
        "subprocess.run subprocess.Popen subprocess.call subprocess.check_call subprocess.check_output pty.spawn"
    )
)
"""Functions whose first argument is a list of words, or text."""

PROGRAM_CALLS = {
    name: 0
    for name in _words(
        "asyncio.create_subprocess_exec asyncio.subprocess.create_subprocess_exec os.execl os.execle "
        "os.execlp os.execlpe os.execv os.execve os.execvp os.execvpe os.posix_spawn os.posix_spawnp os.startfile"
    )
}
PROGRAM_CALLS.update(
    {
        name: 1
        for name in _words(
            "os.spawnl os.spawnle os.spawnlp os.spawnlpe os.spawnv os.spawnve os.spawnvp os.spawnvpe"
        )
    }
)
"""Functions that start the program at this place."""
