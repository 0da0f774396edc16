# Trick: a host file is read as configuration.
# Refused: read(/etc/os-release)
import configparser

parser = configparser.ConfigParser()
parser.read("/etc/os-release")
