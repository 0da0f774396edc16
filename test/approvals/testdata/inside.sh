# What a program in bash tries that wants its own approval. The first words of the
# input are told by the test: the data directory, the port and the process of a server.
breach() { echo "breach: $*"; }
data=$1 port=$2 server=$3 secret=$4
for root in "" /proc/1/root /proc/self/root "/proc/$server/root"; do
	for name in "" /records.db /tokens.json /instances; do
		[ -e "$root$data$name" ] && breach "it sees $root$data$name"
	done
done
for host in 127.0.0.1 localhost ::1 0.0.0.0; do
	(exec 3<>"/dev/tcp/$host/$port") 2>/dev/null && breach "it connects to $host"
done
(kill -CONT "$server") 2>/dev/null && breach "it signals the server"
for p in /proc/[0-9]*; do
	words=$(tr '\0' ' ' <"$p/cmdline" 2>/dev/null; tr '\0' ' ' <"$p/environ" 2>/dev/null)
	case $words in
	*serve*--data-dir* | *"$secret"*) breach "$p tells of the server" ;;
	esac
	for fd in "$p"/fd/*; do
		where=$(readlink "$fd" 2>/dev/null)
		case $where in *records.db* | *tokens.json*) breach "it holds $where" ;; esac
	done
done
find / \( -path /proc -o -path /sys \) -prune -o \( -name 'records.db*' -o -name '*.lease' -o -name tokens.json \) -print 2>/dev/null | while read -r path; do
	breach "there is $path"
done
type gearbox mount curl wget nc 2>/dev/null | grep -v 'not found' | while read -r line; do breach "$line"; done
echo tried
