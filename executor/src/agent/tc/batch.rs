//! Commands of `tc` that make a host's flow table.
//!
//! An entry is a filter of the classifier `flower`. Filters of one preference and protocol are in one table of the kernel: those with
//! one mask are a hash table, and the masks are looked through in the order in which they were made, until one has an entry that
//! matches (`fl_classify`, net/sched/cls_flower.c).

use corpus::Offload;

/// First UDP source port of RoCE v2; a flow label of less than 14 bits is the rest of it (`rdma_flow_label_to_udp_sport`,
/// include/rdma/ib_verbs.h).
const FIRST_PORT: u32 = 0xc000;

/// Set in the first octet of an address of a group: no host sends from one.
const GROUP: u8 = 1;

/// Preference of the filters: what is to be looked up before them has a smaller one.
const PREFERENCE: u32 = 10;

/// A host's end of the connections of a test.
pub(super) struct End<'a> {
    /// The network device.
    pub(super) interface: &'a str,
    /// Its address.
    pub(super) mac: [u8; 6],
    /// True if the addresses of the connections are IPv6.
    pub(super) is_ipv6: bool,
    /// Number of the connections.
    pub(super) connections: u32,
}

/// A place where packets are looked up.
#[derive(Clone, Copy, Debug)]
struct Direction {
    name: &'static str,
    /// The key that has the host's own address there.
    own_mac: &'static str,
    masks: u32,
}

/// An entry of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Entry {
    /// Of a connection, from 1.
    Connection(u32),
    /// One that no packet matches, by its number from 1, which is its port: `tc` takes 0 for none.
    Filler(u32),
}

/// The commands that make a flow table.
pub(super) fn batch(end: &End<'_>, offload: &Offload) -> String {
    let End { interface, is_ipv6, connections, .. } = end;
    let mut commands = format!("qdisc add dev {interface} clsact\n");
    let protocol = if *is_ipv6 { "ipv6" } else { "ip" };
    let directions = [
        Direction { name: "egress", own_mac: "src_mac", masks: offload.egress_masks },
        Direction { name: "ingress", own_mac: "dst_mac", masks: offload.ingress_masks },
    ];
    for direction in directions {
        let name = direction.name;
        for (mask, entry) in entries(offload, *connections, direction.masks) {
            let filter = filter(end.mac, direction, mask, entry, offload.actions);
            commands += &format!(
                "filter add dev {interface} {name} prio {PREFERENCE} protocol {protocol} flower {filter}\n"
            );
        }
    }
    commands
}

/// The entries of one direction with their masks, from 1, in the order in which they are made: every mask at its place first.
fn entries(offload: &Offload, connections: u32, masks: u32) -> Vec<(u32, Entry)> {
    let Offload { flows, place, .. } = offload;
    let mut fillers = (1..).map(Entry::Filler);
    let mut entries = Vec::new();
    for mask in 1..=masks {
        let here = (1..=connections).filter(|number| place.mask_of(*number, connections, masks) == mask);
        let here: Vec<_> = here.map(Entry::Connection).collect();
        let filler = fillers.by_ref().take(usize::from(here.is_empty()));
        entries.extend(here.into_iter().chain(filler).map(|entry| (mask, entry)));
    }
    let more = (*flows as usize).saturating_sub(entries.len());
    entries.extend((1..=masks).cycle().zip(fillers).take(more));
    entries
}

/// The match and the actions of an entry. A connection is known by its port, and a mask differs from another one in the bits of the
/// host's own address that it names; the first names all.
fn filter(own: [u8; 6], direction: Direction, mask: u32, entry: Entry, actions: u32) -> String {
    let [.., high, low] = (mask - 1).to_be_bytes();
    let bits = [0xff, 0xff, 0xff, 0xff, !high, !low];
    let (mac, port) = match entry {
        Entry::Connection(number) => (own, port_of(number)),
        Entry::Filler(number) => {
            let [first, rest @ ..] = own;
            let [a, b, c, d, e] = rest;
            ([first | GROUP, a, b, c, d, e], number)
        }
    };
    let mut text = format!("{} {}/{} ip_proto udp src_port {port}", direction.own_mac, hex(mac), hex(bits));
    if let (Entry::Connection(_), Some(before_last)) = (entry, actions.checked_sub(1)) {
        text += &" action pipe".repeat(before_last as usize);
        text += " action pass";
    }
    text
}

/// UDP source port of a connection (from 1) whose flow label is its number, at both of its ends.
fn port_of(connection: u32) -> u32 {
    FIRST_PORT | connection
}

fn hex(octets: [u8; 6]) -> String {
    octets.map(|octet| format!("{octet:02x}")).join(":")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use corpus::Placement;

    use super::*;

    const MAC: [u8; 6] = [0x52, 0x54, 0, 0, 0, 1];

    fn batch_of(offload: &Offload, connections: u32) -> String {
        batch(&End { interface: "eth0", mac: MAC, is_ipv6: false, connections }, offload)
    }

    /// The words behind a key, in each command that has it.
    fn all<'a>(commands: &'a str, direction: &str, key: &str) -> Vec<&'a str> {
        let of_direction = format!(" {direction} ");
        let lines = commands.lines().filter(|line| line.contains(&of_direction));
        lines.filter_map(|line| line.split(&format!("{key} ")).nth(1)?.split(' ').next()).collect()
    }

    #[test]
    fn a_flow_table_is_a_list_of_commands() {
        let offload =
            Offload { flows: 3, egress_masks: 2, place: Placement::Last, actions: 2, ..Offload::default() };
        insta::assert_snapshot!(batch_of(&offload, 1));
    }

    #[test]
    fn masks_are_made_in_their_order_and_each_is_another_one() {
        let offload = Offload { flows: 5_000, egress_masks: 4_096, ..Offload::default() };
        let commands = batch_of(&offload, 3);
        let masks: Vec<_> = all(&commands, "egress", "src_mac")
            .into_iter()
            .map(|value| value.split('/').nth(1).unwrap())
            .collect();
        assert_eq!(masks.len(), 5_000);
        assert_eq!(masks[..4_096].iter().collect::<BTreeSet<_>>().len(), 4_096);
        assert_eq!((masks[0], masks[1]), ("ff:ff:ff:ff:ff:ff", "ff:ff:ff:ff:ff:fe"));
        assert_eq!(masks[4_096], masks[0], "further entries begin with the first mask");
        let ports = all(&commands, "ingress", "src_port");
        assert_eq!(ports.len(), 5_000);
        assert_eq!(ports[..3], ["49153", "49154", "49155"], "all of them have the only mask");
    }

    #[test]
    fn connections_are_where_their_place_says() {
        let place = Placement::Masks(vec![4, 1]);
        let offload = Offload { flows: 4, egress_masks: 4, place, ..Offload::default() };
        let commands = batch_of(&offload, 2);
        assert_eq!(all(&commands, "egress", "src_port"), ["49154", "1", "2", "49153"]);
        // Fillers have an address that no packet has.
        let first: Vec<_> = all(&commands, "egress", "src_mac").iter().map(|mac| &mac[..2]).collect();
        assert_eq!(first, ["52", "53", "53", "52"]);
    }

    #[test]
    fn connections_of_one_mask_leave_no_mask_without_an_entry() {
        let offload = Offload { flows: 4, egress_masks: 4, place: Placement::First, ..Offload::default() };
        assert_eq!(all(&batch_of(&offload, 3), "egress", "src_port").len(), 6);
    }

    #[test]
    fn a_table_is_of_the_family_of_the_addresses() {
        let offload = Offload { actions: 0, ..Offload::default() };
        let commands = batch(&End { interface: "eth1", mac: MAC, is_ipv6: true, connections: 1 }, &offload);
        assert_eq!(all(&commands, "egress", "protocol"), ["ipv6"]);
        assert!(!commands.contains("action"), "an entry without actions");
    }

    #[test]
    fn ports_are_those_of_the_kernel_s_flow_labels() {
        assert_eq!((port_of(1), port_of(10_000)), (0xc001, 0xe710));
    }
}
