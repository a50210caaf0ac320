//! Capabilities of a testbed. Tests for it are drawn within them; a test beyond them is refused by name.

use std::collections::BTreeSet;
use std::fmt;
use std::ops::RangeInclusive;

use dumper::{ActionKind, Form};

use crate::check::{Check, Violation};
use crate::config::fields::{self, MAX_ADDRESSES};
use crate::config::{
    Action, ControlPacket, HeaderField, Host, LossRecovery, Mtu, Offload, RoceParameters, Role, Scheduler,
    SetField, Target, TestConfig, Verb,
};

/// Capabilities of a testbed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capabilities {
    /// Verbs that its hosts post.
    pub verbs: BTreeSet<Verb>,
    /// Actions of its injector.
    pub actions: BTreeSet<ActionKind>,
    /// Fields that its injector rewrites (`set-field`).
    pub header_fields: BTreeSet<HeaderField>,
    /// Control packets that its injector counts, so that events can name them.
    pub control_packets: BTreeSet<ControlPacket>,
    /// Longest that its injector holds a packet, in ns.
    pub max_delay_ns: u64,
    /// True if its injector loses packets at random (`[network]`).
    pub loss: bool,
    /// True if its injector copies packets whose loss costs a time-out (`[network.repeat]`).
    pub repeat: bool,
    /// True if it has several paths between the hosts, and paths that delay packets (`[[network.path]]`).
    pub paths: bool,
    /// True if its links have priority flow control (`pfc` of `[network]`).
    pub pfc: bool,
    /// True if its hosts can change their flow tables during a test (`[[control]]`), and have chains of them, tunnels and
    /// schedulers.
    pub control: bool,
    /// Path MTUs.
    pub mtus: BTreeSet<Mtu>,
    /// Most connections of a test.
    pub max_connections: u32,
    /// Most message bytes of a test over all connections; each has memory of its own, so that all can be verified.
    pub max_bytes: u64,
    /// ACK timeout exponents that mean something there: where time is emulated, short ones expire on their own.
    pub timeouts: RangeInclusive<u8>,
    /// Most requests that a QP may have outstanding.
    pub max_tx_depth: u32,
    /// Most Receives that a QP may have posted.
    pub max_recv_depth: u32,
    /// Most Reads that a QP may have outstanding.
    pub max_rd_atomic: u8,
    /// Most addresses of a host.
    pub max_addresses: usize,
    /// True if hosts may have IPv6 addresses.
    pub ipv6: bool,
    /// Most entries of a host's flow table in each direction, where `settings` has [`RoceSetting::Offload`].
    pub max_flows: u32,
    /// Settings of the RoCE stack that can be made.
    pub settings: BTreeSet<RoceSetting>,
    /// Values on both hosts of the settings that the testbed cannot make.
    pub fixed: RoceParameters,
    /// True if a test chooses NICs, by the names or paths of their profiles.
    pub nic_profiles: bool,
    /// True if the hosts' NICs can change places from test to test.
    pub swaps_nics: bool,
    /// True if a test may give initial PSNs.
    pub initial_psn: bool,
    /// True if the same test gives the same observation, bit for bit: one run is then enough.
    pub deterministic: bool,
    /// Lanes of a campaign's tests, if their hosts have run other tests before: test n is in lane n modulo this, after the
    /// earlier ones of its lane.
    pub lanes: Option<u8>,
    /// Values that a search leaves out although the testbed has them, where its target leaves the choice: of
    /// two tests that show equally much, the one that takes a tenth of the time is the better one to try.
    pub quick: Option<Quick>,
    /// Room of the NICs that a search is for, where they are known: it leaves out the tests that they have none for.
    pub room: Room,
}

/// Room of two NICs, that of the smaller one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// True if their receive buffers hold what arrives between a pause and its effect (`pfc` of `[network]`).
    pub pauses: bool,
    /// Masks of a direction in all flow tables.
    pub masks: u32,
    /// Entries of a flow table; another one is opened for more, with masks of its own.
    pub entries: u32,
    /// Flows that go through a tunnel.
    pub tunnels: u32,
}

impl Room {
    /// Room for everything that a test can ask for.
    pub const ALL: Self = Self { pauses: true, masks: u32::MAX, entries: u32::MAX, tunnels: u32::MAX };

    /// The room that both have.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            pauses: self.pauses && other.pauses,
            masks: self.masks.min(other.masks),
            entries: self.entries.min(other.entries),
            tunnels: self.tunnels.min(other.tunnels),
        }
    }

    /// Masks of a direction that so many flows may have.
    #[must_use]
    pub fn masks_of(self, flows: u32) -> u32 {
        let tables = flows.div_ceil(self.entries.max(1));
        self.masks.checked_div(tables).unwrap_or(self.masks)
    }
}

/// Tests that a testbed runs quickly.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quick {
    /// Most connections.
    pub max_connections: u32,
    /// Most message bytes over all connections.
    pub max_bytes: u64,
    /// Exponents of the ACK timeout.
    pub timeouts: RangeInclusive<u8>,
    /// Most of a link's loss, in packets of 10^9.
    pub max_loss_ppb: u32,
}

/// A setting of a host's RoCE stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RoceSetting {
    /// `dcqcn-np-enable`
    NotificationPoint,
    /// `dcqcn-rp-enable`
    ReactionPoint,
    /// `min-time-between-cnps`
    CnpInterval,
    /// `adaptive-retrans`
    AdaptiveRetrans,
    /// `slow-restart`
    SlowRestart,
    /// `loss-recovery`
    LossRecovery,
    /// `traffic-class`
    TrafficClass,
    /// `ets`
    Ets,
    /// `offload`
    Offload,
}

impl RoceSetting {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::NotificationPoint,
        Self::ReactionPoint,
        Self::CnpInterval,
        Self::AdaptiveRetrans,
        Self::SlowRestart,
        Self::LossRecovery,
        Self::TrafficClass,
        Self::Ets,
        Self::Offload,
    ];

    /// Path in a host's section.
    #[must_use]
    pub const fn path(self) -> &'static str {
        match self {
            Self::NotificationPoint => "roce-parameters.dcqcn-np-enable",
            Self::ReactionPoint => "roce-parameters.dcqcn-rp-enable",
            Self::CnpInterval => "roce-parameters.min-time-between-cnps",
            Self::AdaptiveRetrans => "roce-parameters.adaptive-retrans",
            Self::SlowRestart => "roce-parameters.slow-restart",
            Self::LossRecovery => "roce-parameters.loss-recovery",
            Self::TrafficClass => "traffic-class",
            Self::Ets => "ets",
            Self::Offload => "offload",
        }
    }

    /// Its value among the parameters; none for those that are present or absent.
    #[must_use]
    pub fn value(self, roce: &RoceParameters) -> Option<u64> {
        match self {
            Self::NotificationPoint => Some(roce.dcqcn_np_enable.into()),
            Self::ReactionPoint => Some(roce.dcqcn_rp_enable.into()),
            Self::CnpInterval => Some(roce.min_time_between_cnps.into()),
            Self::AdaptiveRetrans => Some(roce.adaptive_retrans.into()),
            Self::SlowRestart => Some(roce.slow_restart.into()),
            Self::LossRecovery => Some((roce.loss_recovery == LossRecovery::SelectiveRepeat).into()),
            Self::TrafficClass | Self::Ets | Self::Offload => None,
        }
    }

    /// A value as files write it.
    fn written(self, value: u64) -> String {
        match self {
            Self::CnpInterval => value.to_string(),
            Self::LossRecovery => format!("{:?}", LossRecovery::NAMES[usize::from(value != 0)].0),
            _ => (value != 0).to_string(),
        }
    }
}

impl Capabilities {
    /// Everything that a test can ask for, and the same observation of the same test.
    #[must_use]
    pub fn all() -> Self {
        Self {
            verbs: [Verb::Write, Verb::Read, Verb::Send].into(),
            actions: ActionKind::NAMES.iter().map(|(_, kind)| *kind).collect(),
            header_fields: HeaderField::NAMES.iter().map(|(_, field)| *field).collect(),
            control_packets: ControlPacket::NAMES.iter().map(|(_, packet)| *packet).collect(),
            max_delay_ns: fields::DELAY_NS.max,
            loss: true,
            repeat: true,
            paths: true,
            pfc: true,
            control: true,
            mtus: Mtu::ALL.into(),
            max_connections: fields::NUM_CONNECTIONS.max as u32,
            max_bytes: u64::MAX,
            timeouts: 0..=fields::MIN_RETRANSMIT_TIMEOUT.max as u8,
            max_tx_depth: fields::TX_DEPTH.max as u32,
            max_recv_depth: fields::RECV_DEPTH.max as u32,
            max_rd_atomic: fields::MAX_RD_ATOMIC.max as u8,
            max_addresses: MAX_ADDRESSES,
            ipv6: true,
            max_flows: fields::OFFLOAD_FLOWS.max as u32,
            settings: RoceSetting::ALL.into(),
            fixed: RoceParameters::default(),
            nic_profiles: true,
            swaps_nics: true,
            initial_psn: true,
            deterministic: true,
            lanes: None,
            quick: None,
            room: Room::ALL,
        }
    }

    /// Settings of a test that the testbed does not have. The test itself must be valid.
    #[must_use]
    pub fn violations(&self, config: &TestConfig) -> Vec<Violation> {
        let mut check = Check::default();
        self.traffic(config, &mut check);
        for role in Role::ALL {
            self.host(config.host(role), role, &mut check);
        }
        if !self.loss && config.network.loses() {
            let allowed = "none: remove [network]";
            beyond(&mut check, "network.loss-ppb", "losses at random", allowed);
        }
        if !self.repeat && config.network.repeat.is_on() {
            let allowed = "none: remove [network.repeat]";
            beyond(&mut check, "network.repeat", "copies of packets", allowed);
        }
        if !self.paths && !config.network.paths.is_empty() {
            beyond(&mut check, "network.path", "paths", "none: remove [[network.path]]");
        }
        if !self.control && !config.control.is_empty() {
            beyond(&mut check, "control", "operations on flow tables", "none: remove them");
        }
        if !self.pfc && config.network.pfc {
            beyond(&mut check, "network.pfc", "priority flow control", "none: remove it");
        }
        for (number, path) in (1..).zip(&config.network.paths) {
            at_most(
                &mut check,
                format_args!("network.path[{number}].delay-ns"),
                path.delay_ns,
                self.max_delay_ns,
            );
        }
        for (number, event) in (1..).zip(&config.events) {
            self.event(event.target, event.action, format_args!("event[{number}]"), &mut check);
        }
        check.violations
    }

    fn traffic(&self, config: &TestConfig, check: &mut Check) {
        let traffic = &config.traffic;
        let (connections, messages) = (traffic.load.connections(), traffic.num_msgs_per_qp);
        for verb in [Verb::Write, Verb::Read, Verb::Send] {
            let asked = (1..=connections).any(|qpn| traffic.load.carries(qpn, messages, verb));
            if asked && !self.verbs.contains(&verb) {
                beyond(check, "traffic.rdma-verb", verb.name(), names(&self.verbs, |verb| verb.name()));
            }
        }
        at_most(check, "traffic.num-connections", connections.into(), self.max_connections.into());
        at_most(check, "traffic.tx-depth", traffic.tx_depth.into(), self.max_tx_depth.into());
        at_most(check, "traffic.recv-depth", traffic.recv_depth.into(), self.max_recv_depth.into());
        at_most(check, "traffic.max-rd-atomic", traffic.max_rd_atomic.into(), self.max_rd_atomic.into());
        let bytes = u64::from(connections)
            .saturating_mul(messages.into())
            .saturating_mul(traffic.message_size.into());
        if bytes > self.max_bytes {
            let message = format!("its messages have {bytes} bytes, and this testbed has memory for fewer");
            let help = format!("allowed: at most {}, over all connections", self.max_bytes);
            check.fail("traffic", message, help, &["traffic.message-size", "traffic.num-msgs-per-qp"]);
        }
        if !self.mtus.contains(&traffic.mtu) {
            let allowed = names(&self.mtus, |mtu| mtu.bytes());
            beyond(check, "traffic.mtu", traffic.mtu.bytes(), allowed);
        }
        if !self.timeouts.contains(&traffic.min_retransmit_timeout) {
            let allowed = format!("{} to {}", self.timeouts.start(), self.timeouts.end());
            beyond(check, "traffic.min-retransmit-timeout", traffic.min_retransmit_timeout, allowed);
        }
        if let Some(psn) = traffic.initial_psn.filter(|_| !self.initial_psn) {
            beyond(check, "traffic.initial-psn", psn, "none: its NICs choose their own; remove it");
        }
    }

    fn host(&self, host: &Host, role: Role, check: &mut Check) {
        let role = role.name();
        if !self.nic_profiles && host.nic != Host::DEFAULT_NIC {
            let allowed = format!("none: its NICs are what they are; remove it ({})", Host::DEFAULT_NIC);
            beyond(check, format!("{role}.nic"), &host.nic, allowed);
        }
        let addresses = host.ip_list.len();
        if addresses > self.max_addresses {
            let message = format!("this testbed cannot give a host {addresses} addresses");
            check.fail(format!("{role}.ip-list"), message, format!("allowed: {}", self.max_addresses), &[]);
        }
        if !self.ipv6 && host.ip_list.iter().any(|address| address.addr.is_ipv6()) {
            beyond(check, format!("{role}.ip-list"), "IPv6", "IPv4");
        }
        if let Some(offload) = &host.offload
            && self.settings.contains(&RoceSetting::Offload)
        {
            self.offload(offload, role, check);
        }
        for setting in RoceSetting::ALL.into_iter().filter(|setting| !self.settings.contains(setting)) {
            let field = format!("{role}.{}", setting.path());
            match (setting.value(&host.roce), setting.value(&self.fixed)) {
                (Some(asked), Some(has)) if asked != has && setting == RoceSetting::LossRecovery => {
                    let message = format!("the NIC does not recover losses by {}", setting.written(asked));
                    let help = format!(
                        "set it to {} at both hosts, or choose another NIC: of a profile, reorder.engine decides",
                        setting.written(has)
                    );
                    check.fail(field, message, help, &[]);
                }
                (Some(asked), Some(has)) if asked != has => {
                    beyond(check, field, setting.written(asked), setting.written(has));
                }
                (None, _) if setting.is_given(host) => beyond(check, field, "setting it", "none: remove it"),
                _ => {}
            }
        }
    }

    fn offload(&self, offload: &Offload, role: &str, check: &mut Check) {
        let path = format!("{role}.offload");
        at_most(check, format_args!("{path}.flows"), offload.flows.into(), self.max_flows.into());
        if self.control {
            return;
        }
        at_most(check, format_args!("{path}.tables"), offload.tables.into(), 1);
        if !offload.rules.is_empty() {
            beyond(check, format_args!("{path}.rule"), "rules between tables", "none: remove them");
        }
        if offload.vxlan {
            beyond(check, format_args!("{path}.vxlan"), "tunnels", "false");
        }
        if offload.scheduler != Scheduler::Ovs {
            let (asked, has) = (offload.scheduler.name(), Scheduler::Ovs.name());
            beyond(check, format_args!("{path}.scheduler"), asked, has);
        }
        let of_software = [
            (&fields::VIRTUAL_FUNCTIONS, offload.virtual_functions),
            (&fields::MAX_IDLE_MS, offload.max_idle_ms),
            (&fields::REVALIDATE_MS, offload.revalidate_ms),
            (&fields::HYPER_ENTRIES, offload.hyper_entries),
        ];
        for (field, asked) in of_software {
            if u64::from(asked) != field.default {
                let allowed = format!("none, as nothing comes of it there: remove it ({})", field.default);
                beyond(check, format_args!("{path}.{}", field.key), asked, allowed);
            }
        }
    }

    fn event(&self, target: Target, action: Action, path: fmt::Arguments<'_>, check: &mut Check) {
        if let Target::Control { packet, .. } = target
            && !self.control_packets.contains(&packet)
        {
            let allowed = names(&self.control_packets, |packet| packet.name());
            beyond(check, format!("{path}.packet"), packet.name(), format!("data {allowed}"));
        }
        if !self.actions.contains(&action.kind()) {
            beyond(check, format!("{path}.type"), action.name(), names(&self.actions, |kind| kind.name()));
        }
        match action {
            Action::SetField(SetField { field, .. }) if !self.header_fields.contains(&field) => {
                let allowed = names(&self.header_fields, |field| field.name());
                beyond(check, format!("{path}.field"), field.name(), allowed);
            }
            _ => {}
        }
        if let (Form::Time, Some((operand, ns))) = (action.kind().form(), action.operand()) {
            at_most(check, format_args!("{path}.{}", operand.field.key), ns, self.max_delay_ns);
        }
    }
}

impl RoceSetting {
    /// Returns true if a host has this parameter, of those that may be absent.
    const fn is_given(self, host: &Host) -> bool {
        match self {
            Self::TrafficClass => host.traffic_class.is_some(),
            Self::Ets => host.ets.is_some(),
            Self::Offload => host.offload.is_some(),
            _ => false,
        }
    }
}

fn beyond(check: &mut Check, field: impl fmt::Display, asked: impl fmt::Display, allowed: impl fmt::Display) {
    check.fail(field, format!("this testbed cannot do {asked}"), format!("allowed: {allowed}"), &[]);
}

fn at_most(check: &mut Check, field: impl fmt::Display, asked: u64, most: u64) {
    if asked > most {
        beyond(check, field, asked, format!("at most {most}"));
    }
}

/// `write, read`
fn names<T, N: ToString>(set: &BTreeSet<T>, name: impl Fn(&T) -> N) -> String {
    set.iter().map(|one| name(one).to_string()).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Hop, Rule};
    use crate::from_toml;
    use crate::testing::configs;
    use proptest::prelude::*;

    /// A testbed like one of soft NICs: no settings, IPv4, events on data and ACKs.
    fn narrow() -> Capabilities {
        Capabilities {
            verbs: [Verb::Write, Verb::Send].into(),
            actions: [ActionKind::Drop, ActionKind::Delay, ActionKind::SetField].into(),
            header_fields: [HeaderField::Opcode].into(),
            control_packets: [ControlPacket::Ack].into(),
            max_delay_ns: 1_000_000,
            loss: false,
            repeat: false,
            paths: false,
            pfc: false,
            control: false,
            mtus: [Mtu::B1024].into(),
            max_connections: 4,
            max_bytes: 1 << 20,
            timeouts: 14..=20,
            max_tx_depth: 64,
            max_recv_depth: 512,
            max_rd_atomic: 8,
            max_addresses: 2,
            ipv6: false,
            max_flows: 1_000,
            settings: BTreeSet::new(),
            fixed: RoceParameters { dcqcn_np_enable: false, dcqcn_rp_enable: false, ..Default::default() },
            nic_profiles: false,
            swaps_nics: false,
            initial_psn: false,
            deterministic: false,
            lanes: None,
            quick: None,
            room: Room::ALL,
        }
    }

    #[test]
    fn what_is_beyond_is_named_with_its_bound() {
        let config = from_toml(
            "beyond.toml",
            r#"
            event = [
                { qpn = 1, psn = 1, type = "ecn" },
                { qpn = 1, packet = "read-request", nth = 1, type = "drop" },
                { qpn = 1, psn = 2, type = "delay", delay-us = 2000 },
                { qpn = 1, psn = 3, type = "set-field", field = "psn", value = 1 },
            ]
            [requester]
            nic = "cx5"
            ip-list = ["fd00::1/64", "fd00::2/64", "fd00::3/64"]
            traffic-class = 1
            ets = { weights = [0, 100] }
            [responder]
            ip-list = ["fd00::9/64"]
            roce-parameters = { dcqcn-np-enable = false, dcqcn-rp-enable = false, slow-restart = true }
            [traffic]
            rdma-verb = "read"
            num-connections = 8
            num-msgs-per-qp = 200
            tx-depth = 65
            recv-depth = 1024
            mtu = 4096
            min-retransmit-timeout = 8
            initial-psn = 7
            [network]
            loss-ppb = 1000
            "#,
        );
        let mut config = config.unwrap_or_else(|errors| panic!("{errors}"));
        assert_eq!(Capabilities::all().violations(&config), []);
        let lines: Vec<String> = narrow().violations(&config).iter().map(ToString::to_string).collect();
        insta::assert_snapshot!(lines.join("\n"));

        config = TestConfig::default();
        config.traffic.max_rd_atomic = 8;
        for role in Role::ALL {
            config.host_mut(role).roce = narrow().fixed;
        }
        assert_eq!(narrow().violations(&config), []);
    }

    /// Tables of a kernel: no chains, tunnels or schedulers.
    #[test]
    fn what_a_table_cannot_be_is_named() {
        const PORT: Rule = Rule { table: 1, direction: None, ip_version: None, forward_to: Hop::Port };
        let can = Capabilities { control: false, max_flows: 1_000, ..Capabilities::all() };
        let mut config = TestConfig::default();
        let mut fields = |change: fn(&mut Offload)| {
            let mut offload = Offload::default();
            change(&mut offload);
            config.requester.offload = Some(offload);
            can.violations(&config).into_iter().map(|violation| violation.field).collect::<Vec<_>>()
        };
        assert_eq!(fields(|_| {}), [""; 0]);
        assert_eq!(fields(|offload| offload.tables = 2), ["requester.offload.tables"]);
        assert_eq!(fields(|offload| offload.rules = vec![PORT]), ["requester.offload.rule"]);
        assert_eq!(fields(|offload| offload.vxlan = true), ["requester.offload.vxlan"]);
        assert_eq!(fields(|offload| offload.scheduler = Scheduler::Hyper), ["requester.offload.scheduler"]);
        assert_eq!(fields(|offload| offload.flows = 1_001), ["requester.offload.flows"]);
    }

    proptest! {
        #[test]
        fn everything_is_everything(config in configs()) {
            prop_assert_eq!(Capabilities::all().violations(&config), vec![]);
        }
    }
}
