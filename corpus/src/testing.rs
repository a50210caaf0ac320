//! A generator of valid configurations, for property tests here and in other rooms (feature
//! `testing`). Boxed, so that it is compiled here, and not again in each program of tests.

use proptest::{collection::vec, option, prelude::*, sample::select};

use crate::config::{
    Action, Cidr, ConnectionSet, Control, ControlPacket, Ets, Event, Files, Form, HeaderField, Hop, Host,
    IterMode, Load, LossDirection, LossEffect, LossModel, LossRecovery, Mtu, Network, Offload, Operation,
    PacketKinds, Path, Physical, Placement, Progression, Repeat, RepeatMatch, RoceParameters, Role, Rule,
    Scheduler, SetField, Spray, SprayPackets, Target, TestConfig, Traffic, TrafficClass, TrafficField, Verb,
    fields::{self, IntField},
};

/// Any valid configuration, small enough to run, with every field in use but those of the traffic that are not in
/// `DRAWN`. Recorded tests of random seeds rest on these draws and their order.
pub fn configs() -> BoxedStrategy<TestConfig> {
    (traffic(), any::<bool>())
        .prop_flat_map(|(traffic, v6)| {
            let connections = traffic.load.connections();
            let hosts = (host(1, v6, connections), host(2, v6, connections));
            let events = vec(event(&traffic), 0..6);
            (Just(traffic), hosts, events)
        })
        .prop_map(|(traffic, (requester, responder), events)| {
            settle(TestConfig { requester, responder, traffic, events, ..TestConfig::default() })
        })
        .boxed()
}

/// The same with every field in use.
pub fn complete_configs() -> BoxedStrategy<TestConfig> {
    let is_drawn = |field: &TrafficField| DRAWN.iter().any(|drawn| drawn.key == field.key);
    let later: Vec<_> = TrafficField::ALL.iter().filter(|field| !is_drawn(field)).collect();
    let values: Vec<_> = later.iter().copied().map(value).collect();
    let networked = configs().prop_flat_map(|config| {
        let connections = config.traffic.load.connections();
        let tables = (offload(connections), offload(connections), controls());
        (Just(config), network(connections), tables)
    });
    let complete = (networked, values).prop_map(move |((mut config, network, tables), values)| {
        (config.requester.offload, config.responder.offload, config.control) = tables;
        if !config.is_valid() {
            config.control.clear();
        }
        config.network = network;
        if !config.is_valid() {
            config.network = Network::default();
        }
        for (field, value) in later.iter().zip(values) {
            (field.set)(&mut config.traffic, value);
            if !config.is_valid() {
                (field.set)(&mut config.traffic, field.default);
            }
        }
        config
    });
    complete.boxed()
}

/// Removes contradictions, piece by piece: the rest keeps its variety.
fn settle(mut config: TestConfig) -> TestConfig {
    let one_address = config.requester.ip_list.len() < 2 && config.responder.ip_list.len() < 2;
    config.traffic.multi_gid &= !one_address;
    let mut kept = Vec::new();
    for event in std::mem::take(&mut config.events) {
        kept.push(event);
        config.events = std::mem::take(&mut kept);
        if !config.is_valid() {
            config.events.pop();
        }
        kept = std::mem::take(&mut config.events);
    }
    config.events = kept;
    config
}

/// Any value of a field, the ends included.
fn within(field: &IntField) -> impl Strategy<Value = u64> + use<> {
    prop_oneof![Just(field.min), Just(field.max), field.min..=field.max]
}

/// Fields of the traffic that [`configs`] draw, in this order.
const DRAWN: &[TrafficField] = &[
    TrafficField::MTU,
    TrafficField::MESSAGE_SIZE,
    TrafficField::NUM_MSGS_PER_QP,
    TrafficField::TX_DEPTH,
    TrafficField::MULTI_GID,
    TrafficField::BARRIER_SYNC,
    TrafficField::ITER_MODE,
    TrafficField::MIN_RETRANSMIT_TIMEOUT,
    TrafficField::MAX_RETRANSMIT_RETRY,
    TrafficField::RNR_RETRY,
    TrafficField::MIN_RNR_TIMER,
    TrafficField::MAX_RD_ATOMIC,
    TrafficField::RECV_DEPTH,
    TrafficField::INITIAL_PSN,
    TrafficField::SEED,
];

fn traffic() -> impl Strategy<Value = Traffic> {
    let load = prop_oneof![
        (select(vec![Verb::Write, Verb::Read, Verb::Send]), 1..9u32)
            .prop_map(|(verb, connections)| Load::Same { verb, connections }),
        (1..9u32).prop_map(|connections| Load::Alternating { connections }),
        (1..5u32, 1..5u32).prop_map(|(send, read)| Load::Split { send, read }),
    ];
    let values: Vec<_> = DRAWN.iter().map(value).collect();
    (load, values).prop_map(|(load, values)| {
        let mut traffic = Traffic { load, ..Traffic::default() };
        for (field, value) in DRAWN.iter().zip(values) {
            (field.set)(&mut traffic, value);
        }
        traffic.barrier_sync &= load.connections() > 1;
        traffic.tx_depth = traffic.tx_depth.min(traffic.num_msgs_per_qp);
        traffic
    })
}

/// Any value of a field of the traffic; few messages, and no large ones.
fn value(field: &TrafficField) -> BoxedStrategy<u64> {
    match field.form {
        Form::Mtu => select(Mtu::ALL.to_vec()).prop_map(|mtu| mtu.bytes().into()).boxed(),
        Form::Flag => any::<bool>().prop_map(u64::from).boxed(),
        // Of two words, as it has always been drawn.
        Form::Word([_, _]) => any::<bool>().prop_map(|first| u64::from(!first)).boxed(),
        Form::Word(words) => (0..words.len() as u64).boxed(),
        Form::Number(&fields::MESSAGE_SIZE) => {
            prop_oneof![Just(0u32), 1..40_000u32].prop_map(u64::from).boxed()
        }
        Form::Number(&(fields::NUM_MSGS_PER_QP | fields::TX_DEPTH)) => (1..20u32).prop_map(u64::from).boxed(),
        Form::Number(number) if field.default == TrafficField::ABSENT => {
            option::of(within(number)).prop_map(|value| value.unwrap_or(TrafficField::ABSENT)).boxed()
        }
        Form::Number(number) => within(number).boxed(),
    }
}

fn host(number: u8, v6: bool, connections: u32) -> impl Strategy<Value = Host> {
    let addresses = vec(0..=255u8, 1..4).prop_map(move |mut lasts| {
        lasts.sort_unstable();
        lasts.dedup();
        lasts.into_iter().map(|last| address(number, last, v6)).collect::<Vec<_>>()
    });
    let nic = select(vec!["reference", "cx4-lx", "cx5", "cx6-dx", "e810", "./my \"own\" nic\\µ.toml"]);
    (nic, addresses, physical(), roce(), classes(connections)).prop_map(
        |(nic, ip_list, physical, roce, (traffic_class, ets))| Host {
            nic: nic.to_owned(),
            ip_list,
            physical,
            roce,
            traffic_class,
            ets,
            offload: None,
        },
    )
}

fn address(host: u8, last: u8, v6: bool) -> Cidr {
    let text = if v6 { format!("fd00::{host}:{last:x}/64") } else { format!("10.0.{host}.{last}/16") };
    text.parse().unwrap_or(crate::config::default_address(Role::Requester))
}

fn physical() -> impl Strategy<Value = Physical> {
    let name = || option::of("[a-z][a-z0-9:._/ #'-]{0,12}[a-z0-9]");
    (name(), option::of(any::<u16>()), name(), name(), option::of(1..=u8::MAX), name(), name()).prop_map(
        |(if_name, switch_port, pci_addr, ib_device, ib_port, control_ip, workspace)| Physical {
            if_name,
            switch_port,
            pci_addr,
            ib_device,
            ib_port,
            control_ip,
            workspace,
        },
    )
}

fn roce() -> impl Strategy<Value = RoceParameters> {
    (any::<(bool, bool, bool, bool)>(), within(&fields::MIN_TIME_BETWEEN_CNPS)).prop_map(
        |((dcqcn_rp_enable, dcqcn_np_enable, adaptive_retrans, slow_restart), interval)| RoceParameters {
            dcqcn_rp_enable,
            dcqcn_np_enable,
            min_time_between_cnps: interval as u32,
            adaptive_retrans,
            slow_restart,
            loss_recovery: LossRecovery::GoBackN,
        },
    )
}

/// Classes for the connections, and an ETS setting that serves all of them.
fn classes(connections: u32) -> impl Strategy<Value = (Option<TrafficClass>, Option<Ets>)> {
    let classes = prop_oneof![
        Just(None),
        (0..8u8).prop_map(|class| Some(TrafficClass::Same(class))),
        vec(0..8u8, connections as usize).prop_map(|list| Some(TrafficClass::PerConnection(list))),
    ];
    (classes, vec(1..=100u8, 8), any::<bool>()).prop_map(|(classes, mut weights, with_ets)| {
        let ets = (with_ets && classes.is_some()).then(|| {
            weights[7] = 0;
            Ets { weights, strict: vec![7] }
        });
        (classes, ets)
    })
}

/// Any flow table with an entry for each of so many connections, or none.
fn offload(connections: u32) -> impl Strategy<Value = Option<Offload>> {
    let place = (0..5_u8, vec(1..=4_u32, connections as usize));
    let path = (0..=8_u32, any::<bool>());
    let host =
        (within(&fields::VIRTUAL_FUNCTIONS), within(&fields::MAX_IDLE_MS), within(&fields::REVALIDATE_MS));
    let scheduler = (select(Scheduler::NAMES), within(&fields::HYPER_ENTRIES));
    let chain = (1..=8_u32, rules());
    let table = (0..=1_000_u32, 1..=4_u32, 1..=4_u32, place, path, (host, scheduler, chain));
    option::weighted(0.3, table).prop_map(move |table| {
        let (
            more,
            egress_masks,
            ingress_masks,
            (place, mut masks),
            (actions, vxlan),
            (host, scheduler, chain),
        ) = table?;
        masks.iter_mut().for_each(|mask| *mask = (*mask).min(egress_masks.max(ingress_masks)));
        let place = match place {
            0 => Placement::Spread,
            1 => Placement::First,
            2 => Placement::Last,
            3 => Placement::Apart,
            _ => Placement::Masks(masks),
        };
        let (virtual_functions, max_idle_ms, revalidate_ms) = host;
        let ((_, scheduler), hyper_entries) = scheduler;
        let (tables, rules) = chain;
        Some(Offload {
            flows: connections + 4 + more,
            egress_masks,
            ingress_masks,
            place,
            tables: if rules.is_empty() { tables } else { 1 },
            rules,
            actions,
            vxlan,
            virtual_functions: virtual_functions as u32,
            max_idle_ms: max_idle_ms as u32,
            revalidate_ms: revalidate_ms as u32,
            scheduler,
            hyper_entries: hyper_entries as u32,
        })
    })
}

/// Any rules between tables by which all packets reach the port, or none: they forward to later tables, and the last ones to the port.
fn rules() -> impl Strategy<Value = Vec<Rule>> {
    let of_packets = (select(Rule::DIRECTIONS), select(Rule::MATCHES));
    let rule = (1..=fields::RULE_TABLE.max as u32, of_packets, 1..=4_u32);
    option::of(vec(rule, 1..=12)).prop_map(|drawn| {
        let Some(drawn) = drawn else { return Vec::new() };
        let hop = |table: u32| match fields::FORWARD_TO.allows(table.into()) {
            true => Hop::Table(table),
            false => Hop::Port,
        };
        let all = drawn.iter().map(|(table, ((_, direction), (_, ip_version)), further)| Rule {
            table: *table,
            direction: *direction,
            ip_version: *ip_version,
            forward_to: hop(table + further),
        });
        let last = |table| Rule { table, direction: None, ip_version: None, forward_to: Hop::Port };
        all.chain((1..=fields::RULE_TABLE.max as u32).map(last)).collect()
    })
}

/// Any operations on flow tables; some contradict the test.
fn controls() -> impl Strategy<Value = Vec<Control>> {
    let operation = (select(Operation::NAMES), 1..=8_u32);
    let control = (0..=1_000_u32, select(Role::ALL.to_vec()), operation);
    vec(control, 0..=3).prop_map(|controls| {
        let control = |(at_ms, host, ((_, operation), number)): (u32, Role, ((&str, Operation), u32))| {
            Control { at_ms, host, operation: operation.with_number(number) }
        };
        controls.into_iter().map(control).collect()
    })
}

/// Any set of so many connections.
fn connection_set(connections: u32) -> impl Strategy<Value = ConnectionSet> + use<> {
    prop_oneof![
        (1..=connections).prop_map(ConnectionSet::One),
        (1..=connections).prop_map(ConnectionSet::First),
        Just(ConnectionSet::All),
        proptest::sample::subsequence((1..=connections).collect::<Vec<_>>(), 1..=connections as usize)
            .prop_map(ConnectionSet::List),
    ]
}

/// Any network that loses packets, for so many connections; some have no packet that it can lose.
fn network(connections: u32) -> impl Strategy<Value = Network> + use<> {
    let numbers = (
        1..=fields::LOSS_PPB.max,
        option::of(within(&fields::LOSS_BYTES)),
        1..=fields::LINKS.max,
        1..=fields::CORRUPTED_LINKS_PERCENT.max,
        option::of(within(&fields::SEED)),
    );
    let kinds = (1..=PacketKinds::ALL.bits())
        .prop_map(|bits| PacketKinds::from_bits(bits).unwrap_or(PacketKinds::ALL));
    let words = (select(LossModel::NAMES), select(LossDirection::NAMES), select(LossEffect::NAMES));
    (numbers, kinds, words, connection_set(connections), repeat(), paths(), any::<bool>()).prop_map(
        |(
            (loss_ppb, loss_bytes, links, percent, seed),
            loss_packets,
            (model, direction, effect),
            loss_qpn,
            repeat,
            (paths, spray, flowlet_gap_ns, spray_packets),
            pfc,
        )| Network {
            loss_ppb: loss_ppb as u32,
            loss_model: model.1,
            loss_bytes: loss_bytes.filter(|_| model.1 == LossModel::PerBit).map(|bytes| bytes as u32),
            links: links as u8,
            corrupted_links_percent: percent as u8,
            loss_packets,
            loss_direction: direction.1,
            loss_qpn,
            loss_effect: effect.1,
            seed,
            repeat,
            paths,
            spray,
            flowlet_gap_ns,
            spray_packets,
            pfc,
        },
    )
}

/// Up to three paths, and how packets are spread over them.
fn paths() -> impl Strategy<Value = (Vec<Path>, Spray, u64, SprayPackets)> {
    let path = || {
        let numbers = (0..1_000_000u64, 0..=100u16, within(&fields::WEIGHT), within(&fields::QUEUE_PACKETS));
        numbers.prop_map(|(delay_ns, rate_gbps, weight, queue)| {
            let queue_packets = if rate_gbps == 0 { Path::default().queue_packets } else { queue as u32 };
            Path { delay_ns, rate_gbps, weight: weight as u8, queue_packets }
        })
    };
    let gap = within(&fields::FLOWLET_GAP_NS);
    let words = (select(Spray::NAMES), select(SprayPackets::NAMES));
    (vec(path(), 0..=3), gap, words).prop_map(|(paths, gap, (spray, packets))| match paths.len() {
        0 | 1 => (paths, Spray::Flow, fields::FLOWLET_GAP_NS.default, SprayPackets::All),
        _ => {
            let gap = if spray.1 == Spray::Flowlet { gap } else { fields::FLOWLET_GAP_NS.default };
            (paths, spray.1, gap, packets.1)
        }
    })
}

/// Any copies; none in one of two.
fn repeat() -> impl Strategy<Value = Repeat> {
    let numbers = (within(&fields::NAKS), within(&fields::RETRANSMISSIONS), within(&fields::TAILS));
    let repeat =
        (numbers, select(RepeatMatch::NAMES)).prop_map(|((naks, retransmissions, tails), matching)| {
            let [naks, retransmissions, tails] = [naks, retransmissions, tails].map(|packets| packets as u8);
            let matching = if retransmissions > 1 { matching.1 } else { Repeat::default().matching };
            Repeat { naks, retransmissions, tails, matching }
        });
    prop_oneof![Just(Repeat::default()), repeat]
}

fn event(traffic: &Traffic) -> impl Strategy<Value = Event> + use<> {
    let packets = u32::try_from(traffic.shape().packets()).unwrap_or(u32::MAX);
    let connections = traffic.load.connections();
    let set = connection_set(connections);
    let target = prop_oneof![
        3 => (1..=packets, prop_oneof![3 => Just(1u32), 1 => 1..4u32])
            .prop_map(|(psn, iter)| Target::Data { psn, iter }),
        1 => (select(ControlPacket::NAMES.to_vec()), 1..5u32)
            .prop_map(|((_, packet), nth)| Target::Control { packet, nth }),
    ];
    let progression =
        (1..=packets, option::of(1..4u32)).prop_map(|(every, count)| Progression { every, count });
    (set, target, option::of(progression), action()).prop_map(|(connections, target, progression, action)| {
        Event { connections, target, progression, action }
    })
}

fn action() -> impl Strategy<Value = Action> {
    prop_oneof![
        Just(Action::DROP),
        Just(Action::Ecn),
        Just(Action::Corrupt),
        within(&fields::DELAY_NS).prop_map(|ns| Action::Delay { ns }),
        within(&fields::DELAY_US).prop_map(|us| Action::Delay { ns: us * 1000 }),
        within(&fields::BY).prop_map(|by| Action::Reorder { by: by as u16 }),
        within(&fields::COPIES).prop_map(|copies| Action::Duplicate { copies: copies as u8 }),
        any::<bool>()
            .prop_map(|bit| { Action::SetField(SetField { field: HeaderField::MigReq, value: bit.into() }) }),
    ]
}

/// Any field with any operand. [`configs`] rewrite no field that changes the meaning of a packet to its
/// receiver.
pub fn set_field() -> BoxedStrategy<SetField> {
    select(HeaderField::NAMES.to_vec())
        .prop_flat_map(|(_, field)| within(&field.bounds()).prop_map(move |value| SetField { field, value }))
        .boxed()
}

/// Any valid configuration that the published Lumina tool can express, with its events in the form
/// that importing gives them.
pub fn lumina_configs() -> BoxedStrategy<TestConfig> {
    let events = vec(
        (
            any::<prop::sample::Index>(),
            any::<prop::sample::Index>(),
            0..3usize,
            1..3u32,
            prop::bool::weighted(0.1),
        ),
        0..6,
    );
    let nics = select(vec!["cx4-lx", "cx5", "cx6-dx", "e810"]);
    let config =
        (configs(), events, nics, any::<bool>()).prop_map(|(mut config, events, nic, same_class)| {
            let traffic = &mut config.traffic;
            if let Load::Alternating { connections } = traffic.load {
                traffic.load = Load::Same { verb: Verb::Send, connections };
            }
            for field in TrafficField::ALL.iter().filter(|field| field.files != Files::All) {
                (field.set)(traffic, field.default);
            }
            traffic.iter_mode = IterMode::PerMessage;
            let class = same_class.then_some(TrafficClass::Same(3));
            for host in [&mut config.requester, &mut config.responder] {
                nic.clone_into(&mut host.nic);
                host.ets = None;
                host.traffic_class.clone_from(&class);
                host.roce.dcqcn_rp_enable = host.roce.dcqcn_np_enable;
            }
            config.events = events
                .into_iter()
                .map(|(qpn, psn, action, iter, every_packet)| {
                    lumina_event(&config.traffic, qpn, psn, action, iter, every_packet)
                })
                .collect();
            settle(config)
        });
    config.boxed()
}

fn lumina_event(
    traffic: &Traffic,
    qpn: prop::sample::Index,
    psn: prop::sample::Index,
    action: usize,
    iter: u32,
    every_packet: bool,
) -> Event {
    let per_message = traffic.shape().packets_per_message();
    // With more requests outstanding Lumina only marks.
    let action =
        if traffic.tx_depth > 1 { Action::Ecn } else { [Action::DROP, Action::Ecn, Action::Corrupt][action] };
    let (psn, every) = match every_packet && per_message > 1 {
        true => (1, Some(1)),
        false => {
            let psn = 1 + psn.index(per_message as usize) as u32;
            (psn, (traffic.num_msgs_per_qp > 1).then_some(per_message))
        }
    };
    Event {
        connections: ConnectionSet::One(1 + qpn.index(traffic.load.connections() as usize) as u32),
        target: Target::Data { psn, iter },
        progression: every.map(|every| Progression { every, count: None }),
        action,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        config::Role,
        from_toml,
        lumina::{Dialect, Lab, NoteKind, from_yaml},
    };

    proptest! {
        #[test]
        fn toml_gives_back_every_configuration(config in complete_configs()) {
            prop_assert_eq!(config.violations(), vec![]);
            let text = config.to_toml();
            let read = from_toml("generated.toml", &text).map_err(|errors| {
                TestCaseError::fail(format!("{errors}\n{text}"))
            })?;
            prop_assert_eq!(&read, &config);
            prop_assert_eq!(read.to_toml(), text);
        }

        #[test]
        fn toml_gives_back_every_header_field(set in set_field()) {
            let event = Event {
                connections: ConnectionSet::All,
                target: Target::Data { psn: 1, iter: 1 },
                progression: None,
                action: Action::SetField(set),
            };
            let config = TestConfig { events: vec![event], ..TestConfig::default() };
            prop_assert_eq!(from_toml("generated.toml", &config.to_toml()), Ok(config));
        }

        /// Whatever an edit does, the rules and the reader agree on whether the result is a test.
        #[test]
        fn rules_hold_for_edited_data_as_for_files(
            config in configs(), field in 0..12 + TrafficField::ALL.len(), value in prop_oneof![0..40u32, any::<u32>()]
        ) {
            let mut config = config;
            edit(&mut config, field, value);
            let violations = config.violations();
            let read = from_toml("edited.toml", &config.to_toml());
            prop_assert_eq!(read.is_ok(), violations.is_empty(), "{:?}\n{:?}", read, violations);
            let _ = config.to_lumina(&Lab::default());
        }

        /// A configuration that Lumina can express survives the export and the import.
        #[test]
        fn lumina_gives_back_what_it_can_say(config in lumina_configs()) {
            let text = config.to_lumina(&Lab::default()).map_err(|refusals| TestCaseError::fail(refusals.to_string()))?;
            let imported = from_yaml("generated.yaml", &text, None).map_err(|errors| {
                TestCaseError::fail(format!("{errors}\n{text}"))
            })?;
            let read = imported.config;
            // Events that together take every packet come back as one; the packets are the same.
            prop_assert_eq!(packets(&read), packets(&config), "{}", text);
            let mut plain = TestConfig { events: Vec::new(), ..read.clone() };
            for role in [Role::Requester, Role::Responder] {
                // What a test does not say has a placeholder in the file.
                let (was, now) = (&config.host(role).physical, &mut plain.host_mut(role).physical);
                *now = Physical {
                    if_name: was.if_name.as_ref().and(now.if_name.take()),
                    switch_port: was.switch_port.and(now.switch_port),
                    pci_addr: was.pci_addr.as_ref().and(now.pci_addr.take()),
                    ib_device: was.ib_device.as_ref().and(now.ib_device.take()),
                    ib_port: was.ib_port.and(now.ib_port),
                    control_ip: was.control_ip.as_ref().and(now.control_ip.take()),
                    workspace: was.workspace.as_ref().and(now.workspace.take()),
                };
            }
            prop_assert_eq!(plain, TestConfig { events: Vec::new(), ..config });
            prop_assert_eq!(imported.dialect, Dialect::Published);
            prop_assert!(imported.notes.iter().all(|note| note.kind == NoteKind::Ignored));
            prop_assert_eq!(read.to_lumina(&imported.lab), Ok(text));
        }

        /// A configuration that Lumina cannot express is refused by name; one that it can express means the
        /// same packets.
        #[test]
        fn export_refuses_or_keeps_the_packets(config in complete_configs()) {
            match config.to_lumina(&Lab::default()) {
                Ok(text) => {
                    let read = from_yaml("generated.yaml", &text, None).unwrap().config;
                    prop_assert_eq!(packets(&read), packets(&config));
                }
                Err(refusals) => prop_assert!(refusals.0.iter().all(|refusal| !refusal.field.is_empty())),
            }
        }

        #[test]
        fn no_yaml_is_too_strange(
            config in lumina_configs(), cut in any::<prop::sample::Index>(), junk in ".{0,6}"
        ) {
            let mut text = config.to_lumina(&Lab::default()).unwrap();
            let at = text.floor_char_boundary(cut.index(text.len() + 1));
            text.insert_str(at, &junk);
            let _ = from_yaml("mangled.yaml", &text, None).map_err(|errors| errors.to_string());
            let _ = from_yaml("cut.yaml", &text[..at], None).map_err(|errors| errors.to_string());
        }

        /// Whatever the text, the answer is a value or a list of problems, never a panic.
        #[test]
        fn no_text_is_too_strange(config in configs(), cut in any::<prop::sample::Index>(), junk in ".{0,6}") {
            let mut text = config.to_toml();
            let at = text.floor_char_boundary(cut.index(text.len() + 1));
            text.insert_str(at, &junk);
            let _ = from_toml("mangled.toml", &text).map_err(|errors| errors.to_string());
            let _ = from_toml("cut.toml", &text[..at]).map_err(|errors| errors.to_string());
        }
    }
    /// Every packet that an event names, with the action on it.
    fn packets(config: &TestConfig) -> std::collections::BTreeSet<String> {
        let end = config.traffic.shape().packets() as u32;
        let mut packets = std::collections::BTreeSet::new();
        for event in &config.events {
            for qpn in event.connections.members(config.traffic.load.connections()) {
                for psn in event.points(end).unwrap().iter() {
                    let Target::Data { iter, .. } = event.target else {
                        panic!("Lumina has data events only")
                    };
                    packets.insert(format!("{qpn} {psn} {iter} {:?}", event.action));
                }
            }
        }
        packets
    }
    fn edit(config: &mut TestConfig, field: usize, value: u32) {
        let small = value as u8;
        let traffic = &mut config.traffic;
        let event = config.events.first_mut();
        match field {
            0 => traffic.load = Load::Same { verb: Verb::Read, connections: value },
            1 => traffic.load = Load::Split { send: value, read: value },
            2 => traffic.load = Load::Alternating { connections: value },
            3 => traffic.seed = u64::MAX - (u64::from(value) << 32),
            4 => config.requester.traffic_class = Some(TrafficClass::PerConnection(vec![small; 3])),
            5 => config.responder.ets = Some(Ets { weights: vec![small; 9], strict: vec![small] }),
            6 => config.requester.ip_list.push(config.responder.ip_list[0]),
            7 => config.requester.ip_list[0].prefix = small,
            8 => config.responder.roce.min_time_between_cnps = value,
            9.. if let Some(field) = TrafficField::ALL.get(field - 9) => (field.set)(traffic, value.into()),
            _ => {
                let Some(event) = event else { return };
                match field - TrafficField::ALL.len() {
                    9 => event.connections = ConnectionSet::List(vec![1, value]),
                    10 => event.target = Target::Data { psn: value, iter: value },
                    _ => event.progression = Some(Progression { every: value, count: Some(value) }),
                }
            }
        }
    }
}
