//! Takes a request from its parameters to its outcome: guard, charge, attach the context, execute, mask errors. HTTP,
//! WebSocket and streams share it.

use std::{sync::Arc, time::Duration};

use async_graphql::{Request, Response, ServerError, parser::types::OperationType};
use futures_util::{StreamExt as _, stream::BoxStream};
use tokio::time::sleep;

use super::{
    admission::{Admission, Overloaded},
    codes::{RATE_LIMITED, VALIDATION_FAILED},
    documents::{Documents, FoundDocument, NoDocument},
    kept_operations::{KeptOperation, KeptOperations},
    mask::{mask, take_request_errors},
    outcome::{Reason, Refused, cost_extension, no_room_for_answer, no_room_for_subscription, seconds},
    params::Params,
    patience::hold_back,
    permit::Permit,
    rate::{Budget, Charge},
    request_id::RequestId,
    viewer::{Attach, RequestContext, Viewer},
};
use crate::{
    execution::PreparedExecutor,
    guard::Prepared,
    memory::{AnswerBudget, Hold, Ledger, Stop},
    payer::Payer,
    written::SharedDocument,
};

/// The executor behind its guard.
pub(super) struct Engine<E, V: Viewer> {
    pub(super) schema: E,
    pub(super) documents: Documents,
    pub(super) attach: Arc<dyn Attach<V>>,
    pub(super) admission: Admission,
    /// `None`: operations are free.
    pub(super) budget: Option<Arc<Budget>>,
    /// Most bytes of an answer.
    pub(super) answer_bytes: usize,
    /// The memory of all unsent answers.
    pub(super) answers: Ledger,
    /// The memory of what subscriptions keep.
    pub(super) kept: KeptOperations,
    /// Whether errors may name parts of the schema that the request does not name.
    pub(super) suggests: bool,
    /// Name of the counter of refusals.
    pub(super) refused: &'static str,
}

/// An operation that has passed the guard, is admitted and paid for.
pub(super) struct AdmittedOperation {
    operation: Arc<Prepared>,
    request: Request,
    document: FoundDocument,
    charge: Option<Charge>,
    budget: AnswerBudget,
    /// Memory held for the request.
    hold: Option<Hold>,
    /// Memory held for the operation; `None` unless it is a subscription.
    kept: Option<Arc<KeptOperation>>,
    /// Its permit to run; `None` for subscriptions.
    permit: Option<Permit>,
}

impl AdmittedOperation {
    pub(super) fn operation_type(&self) -> OperationType {
        self.operation.operation_type()
    }
}

/// The result of running an operation, with errors that clients may see.
pub(super) enum Execution {
    /// It ran; the budget holds the memory of its answer.
    Executed(Response, AnswerBudget),
    /// Validation, or the beginning of the subscription, refused it.
    Refused(Refused),
}

impl<E: PreparedExecutor, V: Viewer> Engine<E, V> {
    /// Refuses an operation of a known document for which `client` has no room, before anything is spent on it: a
    /// refusal must cost little when there are many. [`Self::prepare`] decides on all others.
    pub(super) fn refuse_early(&self, params: &Params, client: Payer) -> Result<(), Overloaded> {
        if !self.admission.may_refuse() {
            return Ok(());
        }
        let Some(document) = self.documents.find(&params.source) else { return Ok(()) };
        let operation = document.document.operation(params.operation_name.as_deref());
        operation.map_or(Ok(()), |operation| self.admission.refuse_early(operation, client))
    }

    /// Takes `params` through the guard, waits for a permit, charges the cost, and attaches `context`. `permits` first
    /// decides whether the protocol allows such an operation. An operation refused under load pays only for parsing
    /// its document.
    pub(super) async fn prepare(
        &self,
        mut params: Params,
        context: &RequestContext<V>,
        permits: impl FnOnce(OperationType) -> Result<(), Refused> + Send,
    ) -> Result<AdmittedOperation, Refused> {
        let document = self.documents.open(&params.source, |points| self.pay_reading(context, points))?;
        let guard = &self.documents.guard;
        let admitted = guard.admit(&document.kept.document, params.operation_name.as_deref(), &mut params.variables);
        let admitted = admitted.map_err(NoDocument::from)?;
        let (operation, operation_type) = (admitted.operation.clone(), admitted.operation.operation_type());
        let span = tracing::Span::current();
        span.record("operation", tracing::field::display(operation_type));
        span.record("name", operation.name().map(async_graphql::Name::as_str));
        permits(operation_type)?;
        let keeps = operation_type == OperationType::Subscription;
        let kept = keeps.then(|| self.kept.keep(&operation, context.holders()));
        let kept = kept.transpose().map_err(no_room_for_subscription)?;
        if keeps && let Some(hold) = &mut params.hold {
            *hold = self.kept.hold(hold.bytes(), context.holders()).map_err(no_room_for_subscription)?;
        }
        let paid = match self.admission.admit(&operation, context.payer()).await {
            Ok(permit) => self.charge(context, admitted.cost).map(|charge| (permit, charge)),
            Err(Overloaded { refused, held_back }) => {
                drop(params.hold.take());
                hold_back(held_back).await;
                Err(refused)
            }
        };
        let (permit, charge) = match paid {
            Ok(paid) => paid,
            Err(refused) => {
                // The document is paid for, so its cost is not charged again.
                self.documents.keep(document);
                return Err(refused);
            }
        };
        let extensions = params.take_extensions();
        let mut request = Request::new("").variables(params.variables);
        if operation_type == OperationType::Subscription {
            // Subscribers share results for equal documents, so the text must tell them apart.
            request = request.data(SharedDocument(Arc::clone(&document.kept.text)));
        }
        request.operation_name = operation.name().map(ToString::to_string);
        request.extensions = extensions;
        let budget = AnswerBudget::new(self.answer_bytes, self.answers.open(context.holders()));
        let request = self.attach.attach(request, context).data(budget.clone());
        let request = match &permit {
            Some(permit) => request.data(permit.clone()),
            None => request,
        };
        Ok(AdmittedOperation { operation, request, document, charge, budget, hold: params.hold, kept, permit })
    }

    /// Charges for parsing and validating a document before that happens.
    pub(super) fn pay_reading(&self, context: &RequestContext<V>, points: u64) -> Result<(), Refused> {
        if points == 0 { Ok(()) } else { self.charge(context, points).map(drop) }
    }

    /// Charges the client `cost` points.
    pub(super) fn charge(&self, context: &RequestContext<V>, cost: u64) -> Result<Option<Charge>, Refused> {
        let Some(budget) = &self.budget else { return Ok(None) };
        let charge = budget.charge(context.payer(), cost);
        let Some(wait) = charge.retry_after else { return Ok(Some(charge)) };
        let Charge { requested, remaining, restore_rate, .. } = charge;
        let message = format!(
            "The operation costs {requested} points, {remaining} are left, and {restore_rate} come back each second. \
             Try again in {} s, or ask for less at once.",
            seconds(wait)
        );
        metrics::counter!(self.refused, "bound" => "points").increment(1);
        let refused = Refused::new(Reason::TooManyPoints, RATE_LIMITED, message).for_seconds(seconds(wait));
        Err(Refused { charge: Some(charge), ..refused })
    }

    /// Runs a query or a mutation.
    pub(super) async fn execute(&self, admitted: AdmittedOperation, context: &RequestContext<V>) -> Execution {
        let AdmittedOperation { operation, request, document, charge, budget, hold, permit, kept: _ } = admitted;
        let mut response = self.schema.execute_prepared(operation, request).await;
        drop(hold);
        if let Some(permit) = permit {
            permit.end();
        }
        if let Some(Stop::NoRoom(no_room)) = budget.stopped() {
            return Execution::Refused(no_room_for_answer(*no_room, charge, &context.request_id));
        }
        if let Some(errors) = take_request_errors(&mut response) {
            return self.refused(errors, charge, context);
        }
        self.documents.keep(document);
        mask(&mut response.errors, &context.request_id);
        response.extensions.extend(charge.as_ref().map(cost_extension));
        Execution::Executed(response, budget)
    }

    /// Begins a subscription. Frees the box, which an asynchronous caller would keep.
    pub(super) fn subscribe(&self, admitted: Box<AdmittedOperation>, context: RequestContext<V>) -> Events<'_, E, V> {
        let AdmittedOperation { operation, request, document, charge, budget, hold, kept, permit: _ } = *admitted;
        // The guard has accepted the document, so equal subscriptions share it from now on.
        self.documents.keep(document);
        let responses = self.schema.stream_prepared(operation, request);
        Events { engine: self, responses, context, budget, charge, is_first: true, _hold: (hold, kept) }
    }
}

impl<E, V: Viewer> Engine<E, V> {
    fn refused(&self, mut errors: Vec<ServerError>, charge: Option<Charge>, context: &RequestContext<V>) -> Execution {
        if !self.suggests {
            errors.iter_mut().for_each(without_names);
        }
        mask(&mut errors, &context.request_id);
        Execution::Refused(Refused { reason: Reason::Document, errors, charge })
    }
}

/// The events of a subscription. The first one includes the cost, and each later event costs it again. A client without
/// points waits for its events, and if too many gather, it is treated like any slow reader.
pub(super) struct Events<'a, E, V: Viewer> {
    engine: &'a Engine<E, V>,
    responses: BoxStream<'static, Response>,
    context: RequestContext<V>,
    budget: AnswerBudget,
    charge: Option<Charge>,
    is_first: bool,
    /// Memory held for the request and for the operation.
    _hold: (Option<Hold>, Option<Arc<KeptOperation>>),
}

impl<E, V: Viewer> Events<'_, E, V> {
    pub(super) fn request_id(&self) -> &RequestId {
        &self.context.request_id
    }

    /// The next event, or a refusal, which is the last one.
    pub(super) async fn next(&mut self) -> Option<Execution> {
        while !self.is_first
            && let Some(wait) = self.pay()
        {
            // Boxed: it is rare, and its timer would take room in every subscription.
            Box::pin(sleep(wait)).await;
        }
        let response = self.responses.next().await?;
        Some(self.event(response))
    }

    fn event(&mut self, mut response: Response) -> Execution {
        if let Some(Stop::NoRoom(no_room)) = self.budget.stopped() {
            return Execution::Refused(no_room_for_answer(*no_room, None, self.request_id()));
        }
        if std::mem::take(&mut self.is_first) {
            if let Some(errors) = take_beginning_errors(&mut response) {
                return self.engine.refused(errors, self.charge, &self.context);
            }
            response.extensions.extend(self.charge.as_ref().map(cost_extension));
        }
        mask(&mut response.errors, self.request_id());
        Execution::Executed(response, self.budget.clone())
    }

    /// Charges an event, or returns after how long there are enough points.
    fn pay(&self) -> Option<Duration> {
        let (budget, charge) = (self.engine.budget.as_ref()?, self.charge?);
        budget.charge(self.context.payer(), charge.requested).retry_after
    }
}

impl From<NoDocument> for Refused {
    fn from(reason: NoDocument) -> Self {
        Self { reason: Reason::Document, errors: reason.into_errors(), charge: None }
    }
}

/// Hides names in an error of the executor's own validation. Such errors are rare, because the guard has validated
/// already.
fn without_names(error: &mut ServerError) {
    let code = error.extensions.as_ref().and_then(|extensions| extensions.get("code"));
    if code == Some(&async_graphql::Value::from(VALIDATION_FAILED)) {
        "The document does not fit the schema here.".clone_into(&mut error.message);
    }
}

/// The errors of a subscription that did not begin: from validation, or from its root field.
fn take_beginning_errors(response: &mut Response) -> Option<Vec<ServerError>> {
    take_request_errors(response).or_else(|| {
        let root_failed = response.data == async_graphql::Value::Null
            && !response.errors.is_empty()
            && response.errors.iter().all(|error| error.path.len() <= 1);
        root_failed.then(|| std::mem::take(&mut response.errors))
    })
}
