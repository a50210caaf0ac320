//! State that controllers set on a switch: the primary controller, the committed pipeline, the saved
//! pipeline.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use prost::Message;
use tokio::sync::mpsc::Sender;
use tonic::{Code, Status};

use super::arbitration::{Arbitration, ClientId, Notice, check_device};
use crate::entries::{Refusal, Store, p4info};
use crate::proto::config::P4Info;
use crate::proto::runtime::{
    ForwardingPipelineConfig, MasterArbitrationUpdate, SetForwardingPipelineConfigRequest,
    StreamMessageResponse, Uint128, WriteRequest, forwarding_pipeline_config::Cookie,
    set_forwarding_pipeline_config_request::Action, stream_message_response, write_request::Atomicity,
};
use crate::switch::Shared;

/// To a client's stream.
pub(super) type Outlet = Sender<Result<StreamMessageResponse, Status>>;

/// A switch and the requests of controllers to it. Clones share it.
#[derive(Clone, Debug)]
pub struct Control {
    pub(super) switch: Shared,
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    arbitration: Arbitration,
    outlets: BTreeMap<ClientId, Outlet>,
    next_client: ClientId,
    /// The pipeline that packets go through.
    committed: Option<Pipeline>,
    /// One that is being written, and waits for its commit.
    saved: Option<Pipeline>,
}

/// A pipeline with its entries. Reads go on over the entries as they were when they began.
#[derive(Clone, Debug)]
pub(super) struct Pipeline {
    pub(super) entries: Arc<Store>,
    pub(super) cookie: Option<Cookie>,
}

impl Control {
    /// Nothing has been asked of this switch yet: it only forwards.
    #[must_use]
    pub fn new(switch: Shared) -> Self {
        Self { switch, state: Arc::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A client has opened a stream.
    pub(super) fn enter(&self, outlet: Outlet) -> ClientId {
        let mut state = self.state();
        state.next_client += 1;
        let client = state.next_client;
        state.outlets.insert(client, outlet);
        client
    }

    /// A client has asked to be the primary.
    pub(super) fn arbitrate(
        &self,
        client: ClientId,
        request: &MasterArbitrationUpdate,
    ) -> Result<(), Refusal> {
        let mut state = self.state();
        let notices = state.arbitration.update(client, request)?;
        state.tell(notices);
        Ok(())
    }

    /// A client's stream has ended.
    pub(super) fn leave(&self, client: ClientId) {
        let mut state = self.state();
        state.outlets.remove(&client);
        let notices = state.arbitration.leave(client);
        state.tell(notices);
    }

    /// Refuses a request unless it is the primary's.
    pub(super) fn check_primary(&self, device: u64, election: Option<&Uint128>) -> Result<(), Refusal> {
        self.state().arbitration.check(device, election)
    }

    /// The committed pipeline.
    pub(super) fn committed(&self, device: u64) -> Result<Pipeline, Refusal> {
        check_device(device)?;
        self.state().committed.clone().ok_or_else(no_pipeline)
    }

    /// Applies the updates of a Write: to the saved pipeline, if there is one, else to the committed one,
    /// which then starts again. Returns the result of each update.
    pub(super) fn write(&self, request: &WriteRequest) -> Result<Vec<Result<(), Refusal>>, Refusal> {
        let mut state = self.state();
        state.arbitration.check(request.device_id, request.election_id.as_ref())?;
        let all_or_none = request.atomicity() != Atomicity::ContinueOnError;
        if let Some(saved) = &mut state.saved {
            return Ok(Arc::make_mut(&mut saved.entries).write(&request.updates, all_or_none));
        }
        let committed = state.committed.as_ref().ok_or_else(no_pipeline)?;
        let mut entries = Store::clone(&committed.entries);
        let results = entries.write(&request.updates, all_or_none);
        if results.iter().any(Result::is_ok) {
            let pipeline = Pipeline { entries: Arc::new(entries), cookie: committed.cookie };
            self.commit(&mut state, pipeline)?;
        }
        Ok(results)
    }

    /// Checks, saves or commits a pipeline.
    pub(super) fn set_pipeline(&self, request: &SetForwardingPipelineConfigRequest) -> Result<(), Refusal> {
        let mut state = self.state();
        state.arbitration.check(request.device_id, request.election_id.as_ref())?;
        let action = request.action();
        match action {
            Action::Unspecified => Err(Refusal::invalid(
                "no action is given; allowed: VERIFY, VERIFY_AND_SAVE, VERIFY_AND_COMMIT, COMMIT",
            )),
            Action::ReconcileAndCommit => Err(Refusal::new(
                Code::Unimplemented,
                "RECONCILE_AND_COMMIT is not there; use VERIFY_AND_SAVE, Write and COMMIT",
            )),
            Action::Commit => {
                if request.config.is_some() {
                    return Err(Refusal::invalid(
                        "COMMIT takes the pipeline that is saved, and a config is given",
                    ));
                }
                let nothing = || {
                    Refusal::new(Code::FailedPrecondition, "no pipeline is saved; use VERIFY_AND_SAVE first")
                };
                let saved = state.saved.take().ok_or_else(nothing)?;
                self.commit(&mut state, saved)
            }
            Action::Verify | Action::VerifyAndSave | Action::VerifyAndCommit => {
                let pipeline = verify(request.config.as_ref())?;
                match action {
                    Action::VerifyAndSave => state.saved = Some(pipeline),
                    Action::VerifyAndCommit => {
                        state.saved = None;
                        self.commit(&mut state, pipeline)?;
                    }
                    _ => {}
                }
                Ok(())
            }
        }
    }

    /// Packets go through a pipeline from now on.
    fn commit(&self, state: &mut State, pipeline: Pipeline) -> Result<(), Refusal> {
        let tables = pipeline.entries.tables()?;
        self.switch.lock().begin(tables, self.switch.now());
        state.committed = Some(pipeline);
        Ok(())
    }
}

impl State {
    /// Sends notices to clients; a client that does not read them is disconnected.
    fn tell(&mut self, notices: Vec<Notice>) {
        for (client, update) in notices {
            let update = Some(stream_message_response::Update::Arbitration(update));
            let message = StreamMessageResponse { update };
            if self.outlets.get(&client).is_some_and(|outlet| outlet.try_send(Ok(message)).is_err()) {
                self.outlets.remove(&client);
            }
        }
    }
}

/// A pipeline without entries, if it is the one that this switch has.
fn verify(config: Option<&ForwardingPipelineConfig>) -> Result<Pipeline, Refusal> {
    let config = config.ok_or_else(|| Refusal::invalid("no config is given"))?;
    if P4Info::decode(config.p4info.as_slice()).ok() != Some(p4info()) {
        let message = "the P4Info is not that of this switch, which has one pipeline; \
                       GetForwardingPipelineConfig tells it";
        return Err(Refusal::invalid(message));
    }
    Ok(Pipeline { entries: Arc::default(), cookie: config.cookie })
}

fn no_pipeline() -> Refusal {
    Refusal::new(Code::FailedPrecondition, "no pipeline is committed; use SetForwardingPipelineConfig first")
}
