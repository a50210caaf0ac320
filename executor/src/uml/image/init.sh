#!/bin/busybox sh
# First process of a guest in virtual time. What it says in the kernel's log begins with "guest: ".
b=/bin/busybox
$b mount -t proc proc /proc
$b mount -t sysfs sysfs /sys
$b mount -t devtmpfs devtmpfs /dev
read -r line </proc/cmdline
for word in $line; do
    case $word in
    lumina.host=*) host=${word#*=} ;;
    lumina.peer=*) peer=${word#*=} ;;
    lumina.addresses=*) addresses=${word#*=} ;;
    esac
done
say() { echo "guest: $*" >/dev/kmsg; }
# Nothing on the wire but what tests put there.
for key in accept_dad autoconf accept_ra router_solicitations; do
    echo 0 >"/proc/sys/net/ipv6/conf/eth0/$key"
done
$b ip link set lo up
$b ip link set eth0 mtu 4200 || say "eth0 cannot have MTU 4200"
index=0
while [ "$index" -lt "$addresses" ]; do
    $b ip addr add "10.0.$index.$host/16" dev eth0
    $b ip addr add "fd00::$index:$host/64" dev eth0
    index=$((index + 1))
done
$b ip link set eth0 up
index=0
while [ "$index" -lt "$addresses" ]; do
    $b arp -i eth0 -s "10.0.$index.$peer" "52:54:00:00:00:0$peer"
    index=$((index + 1))
done
/bin/rdma link add rxe0 type rxe netdev eth0 || say "no RDMA device: rdma link add failed"
for port in /dev/vport*; do
    while :; do
        /bin/lumina-agent --port "$port"
        # In the kernel's log, which is what a test keeps.
        say "agent ended with status $?"
        $b sleep 0.2
    done
done
