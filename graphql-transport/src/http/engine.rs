//! Takes a request from its parameters to its outcome: guard, charge, attach the scope, execute, mask errors. HTTP,
//! WebSocket and streams share it.

use std::sync::Arc;

use async_graphql::{Request, Response, ServerError, parser::types::OperationType};
use futures_util::{Stream, StreamExt as _, stream};
use tokio::time::sleep;

use super::{
    admission::{Admission, Permit},
    codes::{RATE_LIMITED, VALIDATION_FAILED},
    documents::{Documents, FoundDocument, NoDocument},
    mask::{mask, take_request_errors},
    outcome::{Reason, Refused, cost_extension, no_room_for_answer, seconds},
    params::Params,
    rate::{Budget, Charge},
    viewer::{Attach, Scope, Viewer},
};
use crate::{
    execution::PreparedExecutor,
    guard::Prepared,
    memory::{AnswerBudget, Hold, Ledger, Stop},
    written::SharedDocument,
};

/// The executor behind its guard.
pub(super) struct Engine<E, V: Viewer> {
    pub(super) schema: E,
    pub(super) documents: Documents,
    pub(super) attach: Arc<dyn Attach<V>>,
    pub(super) admission: Admission,
    /// `None`: operations are not charged.
    pub(super) budget: Option<Budget>,
    /// Bytes of an answer.
    pub(super) answer_bytes: usize,
    /// Of all answers that are made or being made, and unsent.
    pub(super) answers: Ledger,
    /// Whether errors may name what the schema has beside what was asked for.
    pub(super) suggests: bool,
}

/// An operation that has passed the guard, was admitted and was paid for.
pub(super) struct AdmittedOperation {
    operation: Arc<Prepared>,
    request: Request,
    document: FoundDocument,
    charge: Option<Charge>,
    budget: AnswerBudget,
    /// Memory held for the request.
    hold: Option<Hold>,
    /// Its place among those that run; a subscription has none.
    permit: Option<Permit>,
}

impl AdmittedOperation {
    pub(super) fn operation_type(&self) -> OperationType {
        self.operation.operation_type()
    }
}

/// What running an operation gave; errors are fit to be shown.
pub(super) enum Execution {
    /// It ran; the budget has what its answer holds.
    Executed(Response, AnswerBudget),
    /// Validation, or the subscription's beginning, refused it.
    Refused(Refused),
}

impl<E: PreparedExecutor, V: Viewer> Engine<E, V> {
    /// Passes `params` through the guard, waits until the operation may run, charges the cost, and attaches what
    /// belongs to `scope`. `permits`: whether this way of asking may run such an operation; asked before anything else.
    /// An operation that is refused for load costs nothing but the reading of its document.
    pub(super) async fn prepare(
        &self,
        mut params: Params,
        scope: &Scope<V>,
        permits: impl FnOnce(OperationType) -> Result<(), Refused> + Send,
    ) -> Result<AdmittedOperation, Refused> {
        let document = self.documents.open(&params.source, |points| self.pay_reading(scope, points))?;
        let guard = &self.documents.guard;
        let admitted = guard.admit(&document.kept.document, params.operation_name.as_deref(), &mut params.variables);
        let admitted = admitted.map_err(NoDocument::from)?;
        let (operation, operation_type) = (admitted.operation.clone(), admitted.operation.operation_type());
        let span = tracing::Span::current();
        span.record("operation", tracing::field::display(operation_type));
        span.record("name", operation.name().map(async_graphql::Name::as_str));
        permits(operation_type)?;
        let admission = self.admission.admit(&operation).await;
        let paid = admission.and_then(|permit| Ok((permit, self.charge(scope, admitted.cost)?)));
        let (permit, charge) = match paid {
            Ok(paid) => paid,
            Err(refused) => {
                // What was paid for reading it is not asked for again when its cost is charged.
                self.documents.keep(document);
                return Err(refused);
            }
        };
        let extensions = params.take_extensions();
        let mut request = Request::new("").variables(params.variables);
        if operation_type == OperationType::Subscription {
            // Subscribers share what is made for equal documents: so they have to be told apart by their text.
            request = request.data(SharedDocument(Arc::clone(&document.kept.text)));
        }
        request.operation_name = operation.name().map(ToString::to_string);
        request.extensions = extensions;
        let budget = AnswerBudget::new(self.answer_bytes, self.answers.open(scope.holders()));
        let request = self.attach.attach(request, scope).data(budget.clone());
        Ok(AdmittedOperation { operation, request, document, charge, budget, hold: params.hold, permit })
    }

    /// Takes what parsing and validating a document costs, before that is done.
    pub(super) fn pay_reading(&self, scope: &Scope<V>, points: u64) -> Result<(), Refused> {
        if points == 0 { Ok(()) } else { self.charge(scope, points).map(drop) }
    }

    /// Charges the client `cost` points.
    pub(super) fn charge(&self, scope: &Scope<V>, cost: u64) -> Result<Option<Charge>, Refused> {
        let Some(budget) = &self.budget else { return Ok(None) };
        let charge = budget.charge(scope.payer(), cost);
        let Some(wait) = charge.retry_after else { return Ok(Some(charge)) };
        let Charge { requested, remaining, restore_rate, .. } = charge;
        let message = format!(
            "The operation costs {requested} points, {remaining} are left, and {restore_rate} come back each second. \
             Try again in {} s, or ask for less at once.",
            seconds(wait)
        );
        let mut refused = Refused::new(Reason::TooManyPoints, RATE_LIMITED, message);
        for error in &mut refused.errors {
            error.extensions.get_or_insert_default().set("retryAfter", seconds(wait));
        }
        Err(Refused { charge: Some(charge), ..refused })
    }

    /// Runs a query or a mutation.
    pub(super) async fn execute(&self, admitted: AdmittedOperation, scope: &Scope<V>) -> Execution {
        let AdmittedOperation { operation, request, document, charge, budget, hold, permit } = admitted;
        let mut response = self.schema.execute_prepared(operation, request).await;
        drop((hold, permit));
        if let Some(Stop::NoRoom(no_room)) = budget.stopped() {
            return Execution::Refused(no_room_for_answer(*no_room, charge, &scope.request_id));
        }
        if let Some(errors) = take_request_errors(&mut response) {
            return self.refused(errors, charge, scope);
        }
        self.documents.keep(document);
        mask(&mut response.errors, &scope.request_id);
        response.extensions.extend(charge.as_ref().map(cost_extension));
        Execution::Executed(response, budget)
    }

    /// Runs a subscription: its events, or one refusal and nothing after it. The first event tells the cost, which
    /// each further one costs again before it is made: who cannot pay is told later, and what has gathered too long
    /// meanwhile is treated as for all who read slowly.
    pub(super) fn subscribe(
        &self,
        admitted: Box<AdmittedOperation>,
        scope: Scope<V>,
    ) -> impl Stream<Item = Execution> + use<'_, E, V> {
        let AdmittedOperation { operation, request, document, charge, budget, hold, permit: _ } = *admitted;
        // The guard has let it through: whoever asks the same shares it from now on, not from the first event.
        self.documents.keep(document);
        let (cost, events) = (charge.map(|charge| charge.requested), self.schema.stream_prepared(operation, request));
        let begun = (events, true, (scope, budget, hold));
        stream::unfold(begun, move |(mut events, is_first, (scope, budget, hold))| async move {
            if !is_first {
                self.pay(&scope, cost).await;
            }
            let response = events.next().await?;
            let ran = match budget.stopped() {
                Some(Stop::NoRoom(no_room)) => {
                    Execution::Refused(no_room_for_answer(*no_room, None, &scope.request_id))
                }
                _ if is_first => self.first_event(response, charge, (&scope, budget.clone())),
                _ => Self::event(response, (&scope, budget.clone())),
            };
            Some((ran, (events, false, (scope, budget, hold))))
        })
    }

    fn first_event(
        &self,
        mut response: Response,
        charge: Option<Charge>,
        (scope, budget): (&Scope<V>, AnswerBudget),
    ) -> Execution {
        if let Some(errors) = take_beginning_errors(&mut response) {
            return self.refused(errors, charge, scope);
        }
        response.extensions.extend(charge.as_ref().map(cost_extension));
        Self::event(response, (scope, budget))
    }

    fn event(mut response: Response, (scope, budget): (&Scope<V>, AnswerBudget)) -> Execution {
        mask(&mut response.errors, &scope.request_id);
        Execution::Executed(response, budget)
    }

    /// Waits until `cost` can be charged.
    async fn pay(&self, scope: &Scope<V>, cost: Option<u64>) {
        let (Some(budget), Some(cost)) = (&self.budget, cost) else { return };
        while let Some(wait) = budget.charge(scope.payer(), cost).retry_after {
            sleep(wait).await;
        }
    }

    fn refused(&self, mut errors: Vec<ServerError>, charge: Option<Charge>, scope: &Scope<V>) -> Execution {
        if !self.suggests {
            errors.iter_mut().for_each(without_names);
        }
        mask(&mut errors, &scope.request_id);
        Execution::Refused(Refused { reason: Reason::Document, errors, charge })
    }
}

impl From<NoDocument> for Refused {
    fn from(reason: NoDocument) -> Self {
        Self { reason: Reason::Document, errors: reason.into_errors(), charge: None }
    }
}

/// What the executor's own validation says names what it likes; the guard has validated before, so that this is rare.
fn without_names(error: &mut ServerError) {
    let code = error.extensions.as_ref().and_then(|extensions| extensions.get("code"));
    if code == Some(&async_graphql::Value::from(VALIDATION_FAILED)) {
        "The document does not fit the schema here.".clone_into(&mut error.message);
    }
}

/// The errors of a subscription that did not begin: validation's, or those of its root field itself.
fn take_beginning_errors(response: &mut Response) -> Option<Vec<ServerError>> {
    take_request_errors(response).or_else(|| {
        let root_failed = response.data == async_graphql::Value::Null
            && !response.errors.is_empty()
            && response.errors.iter().all(|error| error.path.len() <= 1);
        root_failed.then(|| std::mem::take(&mut response.errors))
    })
}
