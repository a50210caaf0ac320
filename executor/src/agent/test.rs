//! Resources of a test on its host: QPs, memory, parameters. All are destroyed when it is dropped.

use std::rc::Rc;

use corpus::{Role, TestConfig, Verb};
use dumper::Endpoint;
use dumper::observation::Counters;
use tonic::Status;

use super::host::Host;
use super::kept::Kept;
use super::layout::Layout;
use super::parameters::{Applied, Target};
use super::proto::{self, HostError};
use super::refusal::{cannot, invalid};
use super::resources::{gids_of, initial_psn, memory_of, queues_of};
use super::sysfs::CounterFiles;
use super::tc::{self, FlowTable};
use super::{limits, sysfs};
use crate::verbs::{
    Channel, Context, Cq, Gid, Mr, Operation, Pd, Qp, RTS, Receive, Remote, Request, ToRtr, ToRts,
    VerbsError, WorkCompletion,
};

/// Name of a test's text in messages: the orchestrator's own name of the file is not known here.
const TEST: &str = "test";

/// Errors that are kept; a broken stack can report one for every packet.
const MAX_ERRORS: usize = 256;

/// DSCP of traffic class c is 8 c, its class selector (RFC 2474); two bits of ECN follow it.
const CLASS_SHIFT: u32 = 5;
/// ECN-capable transport, ECT(0) (RFC 3168): packets that DCQCN may mark.
const ECT0: u8 = 0b10;

/// A test on its host.
pub(super) struct Test {
    pub(super) config: TestConfig,
    pub(super) role: Role,
    pub(super) layout: Layout,
    qps: Vec<Qp>,
    cqs: Vec<Rc<Cq>>,
    memory: Mr,
    pub(super) channel: Rc<Channel>,
    pub(super) context: Rc<Context>,
    ends: Vec<proto::End>,
    gids: Vec<Gid>,
    peers: Vec<(Endpoint, Remote)>,
    port: u8,
    counter_files: Rc<CounterFiles>,
    errors: Vec<HostError>,
    _parameters: Applied,
    _flow_table: Option<FlowTable>,
}

impl Test {
    /// Makes all resources of a test on its host, and returns those that the peer must know.
    pub(super) fn prepare(
        host: &Host,
        kept: &mut Kept,
        prepare: &proto::Prepare,
    ) -> Result<(Self, proto::Prepared), Status> {
        let config = corpus::from_toml(TEST, &prepare.test).map_err(invalid)?;
        let role = proto::Role::try_from(prepare.role)
            .map_err(|_| invalid(format!("role: {} is neither requester nor responder", prepare.role)))?
            .into();
        let (device, context) = host.open(kept, &prepare.device)?;
        let port = match prepare.port {
            0 => 1,
            port => u8::try_from(port).map_err(|_| invalid(format!("port: {port} is no port number")))?,
        };
        let device_limits = context.limits().map_err(cannot)?;
        let port_state =
            context.port(port).map_err(|error| cannot(format!("port {port} of {device}: {error}")))?;
        let layout = Layout::of(&config.traffic);
        limits::check(&config, role, &device_limits, &port_state, host.max_memory_for(layout.bytes()))
            .map_err(|reason| cannot(format!("{device}: {reason}")))?;
        let gids = gids_of(&config, role, prepare.gid_index, &context.gids(port).map_err(cannot)?)
            .map_err(|reason| cannot(format!("{device}: {reason}")))?;
        let interface = gids.first().and_then(|gid| sysfs::interface_name(gid.interface));

        // Former values are those from before the test whose agent died.
        host.recover();
        let names = sysfs::names(host.roots(), &device, port, interface.clone());
        let family = sysfs::family(host.roots(), &device);
        let target = Target { roots: host.roots(), family, names: &names };
        let (parameters, mut report) = Applied::new(config.host(role), &target, host.journals());
        let flow_table = match host.flow_tables() {
            Some(device) => {
                device.put(&config, role, &gids, interface.as_deref(), host.roots()).map_err(cannot)?
            }
            None => tc::refused(&config, role).map_or(Ok(None), |why| Err(cannot(why)))?,
        };
        let flow_table = flow_table.map(|(table, told)| {
            report.push(told);
            table
        });
        let pd = Pd::new(&context).map_err(cannot)?;
        let memory = memory_of(&config, role, &layout, &pd)?;
        let channel = Channel::new(&context).map_err(cannot)?;
        let (cqs, qps) = queues_of(&config, role, port, device_limits.max_cqe, &channel, &pd)?;
        let ends = (0..).zip(qps.iter().zip(gids.iter().cycle())).map(|(at, (qp, gid))| proto::End {
            qpn: qp.number(),
            initial_psn: initial_psn(&config, role, at),
            ip: gid.ip().map(|ip| ip.to_string()).unwrap_or_default(),
            address: memory.address(layout.connection(at)),
            rkey: memory.rkey(),
        });
        let ends: Vec<_> = ends.collect();
        let (counter_files, counters) = kept.counters(&sysfs::port(host.roots(), &device, port), interface);
        let prepared =
            proto::Prepared { ends: ends.clone(), counters: Some(counters.into()), parameters: report };
        let test = Self {
            config,
            role,
            layout,
            qps,
            cqs,
            memory,
            channel,
            context,
            ends,
            gids,
            peers: Vec::new(),
            port,
            counter_files,
            errors: Vec::new(),
            _parameters: parameters,
            _flow_table: flow_table,
        };
        Ok((test, prepared))
    }

    /// Connects every QP to its peer.
    pub(super) fn connect(&mut self, peers: &[proto::End]) -> Result<(), Status> {
        if peers.len() != self.qps.len() {
            let (given, needed) = (peers.len(), self.qps.len());
            return Err(invalid(format!("peers: {given} are given for {needed} connections")));
        }
        let traffic = &self.config.traffic;
        let classes = self.config.host(self.role).traffic_class.as_ref();
        let mut ends = Vec::with_capacity(peers.len());
        for (number, (peer, (qp, gid))) in
            (1..).zip(peers.iter().zip(self.qps.iter().zip(self.gids.iter().cycle())))
        {
            let end =
                Endpoint::try_from(peer).map_err(|error| invalid(format!("peers[{number}]: {error}")))?;
            if peer.address.checked_add(self.layout.bytes()).is_none() {
                return Err(invalid(format!(
                    "peers[{number}]: the memory at {:#x} has no end",
                    peer.address
                )));
            }
            let class = classes.and_then(|classes| classes.of(number)).unwrap_or(0);
            let to_rtr = ToRtr {
                mtu: traffic.mtu.bytes(),
                peer_qpn: peer.qpn,
                peer_psn: peer.initial_psn,
                peer_ip: end.ip,
                max_dest_rd_atomic: traffic.max_rd_atomic,
                min_rnr_timer: traffic.min_rnr_timer,
                port: self.port,
                gid_index: u8::try_from(gid.index).expect("chosen among those that fit"),
                traffic_class: class << CLASS_SHIFT | ECT0,
                flow_label: tc::flow_label(&self.config, number),
                service_level: class,
            };
            let to_rts = ToRts {
                psn: self.ends[number as usize - 1].initial_psn,
                timeout: traffic.min_retransmit_timeout,
                retry_cnt: traffic.max_retransmit_retry,
                rnr_retry: traffic.rnr_retry,
                max_rd_atomic: traffic.max_rd_atomic,
            };
            qp.to_rtr(&to_rtr)
                .and_then(|()| qp.to_rts(&to_rts))
                .map_err(|error| cannot(format!("connection {number} to {}: {error}", end.ip)))?;
            ends.push((end, Remote { address: peer.address, rkey: peer.rkey }));
        }
        self.peers = ends;
        Ok(())
    }

    /// The end of a connection (from 0) that this host has.
    pub(super) const fn end_of(&self, connection: u32) -> Role {
        self.config.traffic.end_at(self.role, connection.saturating_add(1))
    }

    /// All connections, with the ends that this host has.
    pub(super) fn ends_at_host(&self) -> impl Iterator<Item = (u32, Role)> {
        (0..self.config.traffic.load.connections()).map(|connection| (connection, self.end_of(connection)))
    }

    /// Returns true if the last byte of a Write to this host (both from 0) has arrived. Packets are written in their order (IBA vol. 1,
    /// 9.7.2), so that the others have too.
    pub(super) fn has_arrived(&self, connection: u32, message: u32) -> bool {
        self.layout.is_last_changed(&self.memory, connection, message)
    }

    /// Posts the request of a message (both from 0), and the dummies that follow it at once.
    pub(super) fn post_request(&self, connection: u32, message: u32) -> Result<(), VerbsError> {
        let traffic = &self.config.traffic;
        self.qps[connection as usize].post_send(&Request {
            id: id_of(connection, message),
            operation: self.operation(connection, message, traffic.load.verb(connection + 1, message)),
            memory: &self.memory,
            range: self.layout.message(connection, message),
            signaled: true,
        })?;
        if traffic.times_dummies() { Ok(()) } else { self.post_dummies(connection, message) }
    }

    /// Posts the dummies behind a message (both from 0).
    pub(super) fn post_dummies(&self, connection: u32, message: u32) -> Result<(), VerbsError> {
        let traffic = &self.config.traffic;
        let verb = traffic.load.verb(connection + 1, message).dummy();
        let start = self.layout.message(connection, message).start;
        let dummy = Request {
            id: id_of(connection, message) | DUMMY,
            operation: self.operation(connection, message, verb),
            memory: &self.memory,
            range: start..start,
            signaled: false,
        };
        (0..traffic.dummy_headers).try_for_each(|_| self.qps[connection as usize].post_send(&dummy))
    }

    fn operation(&self, connection: u32, message: u32, verb: Verb) -> Operation {
        let (_, remote) = self.peers[connection as usize];
        let address = remote.address + self.layout.within_connection(message) as u64;
        let remote = Remote { address, ..remote };
        match verb {
            Verb::Send => Operation::Send,
            Verb::Write => Operation::Write(remote),
            Verb::Read => Operation::Read(remote),
        }
    }

    /// Posts the Receive of the message (both from 0) that is a Send.
    pub(super) fn post_receive(&self, connection: u32, message: u32) -> Result<(), VerbsError> {
        self.qps[connection as usize].post_recv(&Receive {
            id: id_of(connection, message),
            memory: &self.memory,
            range: self.layout.message(connection, message),
        })
    }

    /// Takes completions of all queues.
    pub(super) fn poll(&self, taken: &mut Vec<WorkCompletion>) -> Result<(), VerbsError> {
        self.cqs.iter().try_for_each(|cq| cq.poll(taken))
    }

    /// Has the channel tell of the next completion of any queue.
    pub(super) fn arm(&self) -> Result<(), VerbsError> {
        self.cqs.iter().try_for_each(|cq| cq.arm())
    }

    /// Records the events that the device has reported by itself.
    pub(super) fn take_async_events(&mut self) -> Result<(), VerbsError> {
        while let Some(event) = self.context.next_async_event()? {
            let at = event.qpn.and_then(|qpn| self.qps.iter().position(|qp| qp.number() == qpn));
            if event.is_error {
                self.note(at.map_or(0, |at| at as u32 + 1), event.what);
            }
        }
        Ok(())
    }

    /// Notes an error of a connection (from 1; 0 is the device).
    pub(super) fn note(&mut self, connection: u32, what: String) {
        self.note_error(HostError { connection, what, unfounded_completion: false }, MAX_ERRORS);
    }

    /// Records a completion of a connection (from 1; 0 for an unknown one) that no request of it explains.
    pub(super) fn note_unfounded(&mut self, connection: u32, what: String) {
        // The first of them are reported in any case.
        self.note_error(HostError { connection, what, unfounded_completion: true }, 2 * MAX_ERRORS);
    }

    fn note_error(&mut self, error: HostError, limit: usize) {
        if self.errors.len() < limit {
            self.errors.push(error);
        }
    }

    /// The library's name of a status of completions.
    pub(super) fn status_name(&self, status: u32) -> String {
        self.context.verbs().wc_status_name(status)
    }

    /// All errors, with the QPs that ended in another state than they should.
    pub(super) fn take_errors(&mut self) -> Result<Vec<HostError>, VerbsError> {
        self.take_async_events()?;
        for at in 0..self.qps.len() {
            let state = self.qps[at].state()?;
            if state != RTS {
                self.note(at as u32 + 1, format!("the QP is in state {state}"));
            }
        }
        Ok(std::mem::take(&mut self.errors))
    }

    /// The host's counters.
    pub(super) fn counters(&self) -> Counters {
        self.counter_files.read()
    }

    /// Data found in the memory of a message (both numbers from 0), if this host is the one that receives it.
    pub(super) fn delivery(&self, connection: u32, message: u32) -> Option<proto::Delivery> {
        let verb = self.config.traffic.load.verb(connection + 1, message);
        if verb.data_sender() == self.end_of(connection) {
            return None;
        }
        let content = self.layout.verify(&self.memory, connection, message);
        Some(proto::Delivery {
            connection: connection + 1,
            message: message + 1,
            bytes: content.bytes,
            intact: content.intact,
        })
    }
}

/// Set in the number of a work request that is a dummy behind its message.
pub(super) const DUMMY: u64 = 1 << 63;

/// The number of a work request: of the message (both from 0) that it is for.
pub(super) const fn id_of(connection: u32, message: u32) -> u64 {
    (connection as u64) << 32 | message as u64
}

/// The message (both from 0) that a work request was for.
pub(super) const fn message_of(id: u64) -> (u32, u32) {
    ((id >> 32) as u32, id as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_work_requests_come_back() {
        assert_eq!(message_of(id_of(9_999, 999_999)), (9_999, 999_999));
    }
}
