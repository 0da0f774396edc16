# Trick: a logging configuration names classes to import and call.
# Refused: unsafe(dynamic_import)
import logging.config

logging.config.dictConfig({"version": 1, "formatters": {"f": {"()": "os.getpid"}}})
