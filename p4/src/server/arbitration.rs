//! Write access: client arbitration of P4Runtime (specification 1.3, clause 5).

use std::collections::BTreeMap;

use tonic::Code;

use super::DEVICE_ID;
use crate::entries::Refusal;
use crate::proto::rpc::Status;
use crate::proto::runtime::{MasterArbitrationUpdate, Uint128};

/// Most clients at a time. Each is an open stream.
const MAX_CLIENTS: usize = 64;

/// An open stream of a client.
pub(super) type ClientId = u64;

/// The clients with their election identifiers. The one with the highest that was ever seen is the primary, as long as
/// its stream is open.
#[derive(Debug, Default)]
pub(super) struct Arbitration {
    clients: BTreeMap<ClientId, Option<u128>>,
    highest: Option<u128>,
}

/// Arbitration update to send to a client.
pub(super) type Notice = (ClientId, MasterArbitrationUpdate);

impl Arbitration {
    /// A client asks to be the primary, or without an identifier to be a backup; returns the notices to
    /// clients.
    pub(super) fn update(
        &mut self,
        client: ClientId,
        request: &MasterArbitrationUpdate,
    ) -> Result<Vec<Notice>, Refusal> {
        check_device(request.device_id)?;
        if let Some(role) = request.role.as_ref().filter(|role| !role.name.is_empty()) {
            let message = format!(
                "role {:?} is not there; there is only the default role, which is not named",
                role.name
            );
            return Err(Refusal::invalid(message));
        }
        let election = request.election_id.as_ref().map(u128_of);
        if election == Some(0) {
            return Err(Refusal::invalid("the election identifier is 0; they start at 1"));
        }
        if election.is_some()
            && self.clients.iter().any(|(other, taken)| *other != client && *taken == election)
        {
            return Err(Refusal::invalid(
                "another client has the same election identifier; each needs its own",
            ));
        }
        if self.clients.len() >= MAX_CLIENTS && !self.clients.contains_key(&client) {
            return Err(Refusal::new(
                Code::ResourceExhausted,
                format!("{MAX_CLIENTS} clients are connected already"),
            ));
        }
        let before = self.primary();
        self.clients.insert(client, election);
        self.highest = self.highest.max(election);
        if before != self.primary() || self.primary() == Some(client) {
            Ok(self.notices())
        } else {
            Ok(vec![self.notice(client)])
        }
    }

    /// A client's stream has ended; returns the notices to clients.
    pub(super) fn leave(&mut self, client: ClientId) -> Vec<Notice> {
        let was_primary = self.primary() == Some(client);
        self.clients.remove(&client);
        if was_primary { self.notices() } else { Vec::new() }
    }

    /// Refuses a request unless it is the primary's.
    pub(super) fn check(&self, device: u64, election: Option<&Uint128>) -> Result<(), Refusal> {
        check_device(device)?;
        let election = election.map(u128_of);
        if self.primary().is_some() && election.is_some() && election == self.highest {
            return Ok(());
        }
        let message = match (self.primary(), self.highest) {
            (Some(_), Some(highest)) => {
                format!("the primary is the client with election identifier {highest}; it alone may do this")
            }
            _ => "there is no primary; open a StreamChannel and send an arbitration first".to_owned(),
        };
        Err(Refusal::new(Code::PermissionDenied, message))
    }

    fn primary(&self) -> Option<ClientId> {
        let highest = self.highest?;
        self.clients.iter().find(|(_, election)| **election == Some(highest)).map(|(client, _)| *client)
    }

    fn notices(&self) -> Vec<Notice> {
        self.clients.keys().map(|client| self.notice(*client)).collect()
    }

    fn notice(&self, client: ClientId) -> Notice {
        let (code, message) = match self.primary() {
            Some(primary) if primary == client => (Code::Ok, "you are the primary"),
            Some(_) => (Code::AlreadyExists, "another client is the primary"),
            None => (Code::NotFound, "there is no primary"),
        };
        let status = Status { code: code.into(), message: message.to_owned(), details: Vec::new() };
        let election_id = self.highest.map(uint128);
        let update =
            MasterArbitrationUpdate { device_id: DEVICE_ID, role: None, election_id, status: Some(status) };
        (client, update)
    }
}

/// Refuses requests to another device.
pub(super) fn check_device(device: u64) -> Result<(), Refusal> {
    if device == DEVICE_ID {
        return Ok(());
    }
    Err(Refusal::new(
        Code::NotFound,
        format!("there is no device {device}; this switch is device {DEVICE_ID}"),
    ))
}

/// A message as a number.
pub(crate) fn u128_of(id: &Uint128) -> u128 {
    u128::from(id.high) << 64 | u128::from(id.low)
}

/// A number as a message.
pub(crate) fn uint128(number: u128) -> Uint128 {
    Uint128 { high: (number >> 64) as u64, low: number as u64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asks(election: Option<u128>) -> MasterArbitrationUpdate {
        MasterArbitrationUpdate {
            device_id: DEVICE_ID,
            election_id: election.map(uint128),
            ..Default::default()
        }
    }

    fn told(notices: Vec<Notice>) -> Vec<(ClientId, Code)> {
        let code = |update: MasterArbitrationUpdate| Code::from(update.status.unwrap().code);
        notices.into_iter().map(|(client, update)| (client, code(update))).collect()
    }

    fn may_write(arbitration: &Arbitration, election: u128) -> bool {
        arbitration.check(DEVICE_ID, Some(&uint128(election))).is_ok()
    }

    #[test]
    fn the_highest_identifier_is_the_primary_while_its_stream_is_open() {
        let mut arbitration = Arbitration::default();
        assert!(!may_write(&arbitration, 5));
        assert_eq!(told(arbitration.update(1, &asks(Some(5))).unwrap()), [(1, Code::Ok)]);
        assert_eq!(told(arbitration.update(2, &asks(Some(4))).unwrap()), [(2, Code::AlreadyExists)]);
        assert_eq!(told(arbitration.update(3, &asks(None)).unwrap()), [(3, Code::AlreadyExists)]);
        assert!(may_write(&arbitration, 5) && !may_write(&arbitration, 4));
        let large = 1 << 90;
        let notices = told(arbitration.update(2, &asks(Some(large))).unwrap());
        assert_eq!(notices, [(1, Code::AlreadyExists), (2, Code::Ok), (3, Code::AlreadyExists)]);
        assert!(may_write(&arbitration, large) && !may_write(&arbitration, 5));
        assert_eq!(told(arbitration.leave(2)), [(1, Code::NotFound), (3, Code::NotFound)]);
        assert!(!may_write(&arbitration, large), "the stream of the primary has ended");
        assert_eq!(told(arbitration.update(1, &asks(Some(6))).unwrap()), [(1, Code::NotFound)]);
        assert_eq!(
            told(arbitration.update(1, &asks(Some(large))).unwrap()),
            [(1, Code::Ok), (3, Code::AlreadyExists)]
        );
        assert_eq!(told(arbitration.leave(3)), []);
    }

    #[test]
    fn bad_arbitrations_are_refused() {
        let mut arbitration = Arbitration::default();
        arbitration.update(1, &asks(Some(5))).unwrap();
        let code = |arbitration: &mut Arbitration, request| arbitration.update(2, &request).unwrap_err().code;
        assert_eq!(code(&mut arbitration, asks(Some(5))), Code::InvalidArgument);
        assert_eq!(code(&mut arbitration, asks(Some(0))), Code::InvalidArgument);
        let elsewhere = MasterArbitrationUpdate { device_id: 7, ..asks(Some(6)) };
        assert_eq!(code(&mut arbitration, elsewhere), Code::NotFound);
        for client in 2..=MAX_CLIENTS as u64 {
            arbitration.update(client, &asks(None)).unwrap();
        }
        let refusal = arbitration.update(1_000, &asks(None)).unwrap_err();
        assert_eq!(refusal.code, Code::ResourceExhausted);
        assert!(may_write(&arbitration, 5));
    }
}
