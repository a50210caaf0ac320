#!/bin/busybox sh
# First process of a guest of the VM testbed. What it says on the console begins with "guest: ".
/bin/busybox --install -s /bin
export PATH=/sbin:/bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mount -t tmpfs tmpfs /tmp
stty -echo </dev/console

for word in $(cat /proc/cmdline); do
    case $word in
    lumina.host=*) host=${word#*=} ;;
    lumina.peer=*) peer=${word#*=} ;;
    lumina.addresses=*) addresses=${word#*=} ;;
    lumina.mtu=*) mtu=${word#*=} ;;
    lumina.control=*) control=${word#*=} ;;
    esac
done
address() { echo "10.0.$1.$2"; }
say() { echo "guest: $*" >/dev/console; }

# Whatever goes wrong in the kernel has to be seen: all of its messages on the console, tasks that hang early, an oops
# as the end of the guest (panic=1 on the command line then ends QEMU).
dmesg -n 7
echo 1 >/proc/sys/kernel/panic_on_oops
echo 10 >/proc/sys/kernel/hung_task_timeout_secs
echo 5 >/proc/sys/kernel/hung_task_check_interval_secs
echo -1 >/proc/sys/kernel/hung_task_warnings

while read -r module; do
    insmod "/modules/$module" || say "module $module cannot be loaded"
done </modules/order

# Nothing on the wire but what tests put there, and answers to whoever asks for an address.
for key in accept_dad autoconf accept_ra router_solicitations; do
    echo 0 >"/proc/sys/net/ipv6/conf/eth0/$key"
done
ip link set lo up
ip link set eth0 mtu "$mtu" || say "eth0 cannot have MTU $mtu"
index=0
while [ "$index" -lt "$addresses" ]; do
    ip addr add "$(address "$index" "$host")/16" dev eth0
    ip addr add "fd00::$index:$host/64" dev eth0
    index=$((index + 1))
done
ip link set eth0 up
index=0
while [ "$index" -lt "$addresses" ]; do
    arp -i eth0 -s "$(address "$index" "$peer")" "52:54:00:00:00:0$peer"
    index=$((index + 1))
done
ip addr add "$control" dev eth1
ip link set eth1 up
rdma link add rxe0 type rxe netdev eth0 || say "no RDMA device: rdma link add failed"

# Words that come in on the console. A line of a key is added to a file, until the agent is to have the keys.
mkdir -p /keys
while read -r word rest; do
    case $word in
    kill-agent) killall -9 lumina-agent ;;
    key) (umask 077; echo "${rest#* }" >>"/keys/${rest%% *}") ;;
    keys) touch /keys/whole; killall lumina-agent ;;
    clock) date -s "@$rest" >/tmp/clock ;;
    link) ip link set eth0 "$rest" ;;
    # busybox has a tc of its own, which knows no filters.
    tc) /sbin/tc $rest </dev/null 2>&1 | while read -r line; do say "tc: $line"; done; say "tc ended" ;;
    crash) echo c >/proc/sysrq-trigger ;;
    ping) ping -c 3 -W 2 "$(address 0 "$peer")" >/tmp/ping && say "ping answered" || say "ping unanswered" ;;
    esac
done </dev/console &

access=--insecure
while :; do
    # The control network ends in QEMU, at a port of this machine.
    [ ! -e /keys/whole ] || { access="--keys /keys"; say "agent has keys"; }
    lumina-agent --listen 0.0.0.0:7471 --flow-tables eth0 $access
    # In the kernel's log, which is what a test keeps.
    echo "guest: agent ended with status $?" >/dev/kmsg
    # What it had begun must not go on beside the next one.
    killall -9 tc 2>/dev/null
    sleep 0.2
done
