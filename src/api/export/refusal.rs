//! Answers for links that do not open, as sentences that say what to do next.

use axum::{
    http::{StatusCode, header},
    response::{IntoResponse as _, Response},
};

use crate::{
    accounts::{TokenError, export::ExportError},
    telemetry::metrics::REFUSED,
};

/// Seconds after which an export under way has probably ended.
const RETRY_AFTER: u64 = 30;

/// The answer for an error. Logs those that are our own fault.
pub fn refusal(error: &ExportError) -> Response {
    let (status, text) = match error {
        ExportError::Token(TokenError::Invalid | TokenError::Unsignable) => {
            (StatusCode::UNAUTHORIZED, "This link is not valid. Ask for a new one with the mutation exportViewer.\n")
        }
        ExportError::Token(TokenError::Expired) => {
            (StatusCode::GONE, "This link has expired. Ask for a new one with the mutation exportViewer.\n")
        }
        ExportError::SessionEnded => (
            StatusCode::UNAUTHORIZED,
            "The session that asked for this link has ended. Sign in and ask for a new link.\n",
        ),
        ExportError::NoAccount => {
            (StatusCode::GONE, "The account of this link has been deleted. There is nothing left to download.\n")
        }
        ExportError::ViewerBusy => (
            StatusCode::TOO_MANY_REQUESTS,
            "Your data is being sent to you already. Wait until that has ended, then open the link again.\n",
        ),
        ExportError::TooManyPoints(_) => (
            StatusCode::TOO_MANY_REQUESTS,
            "You have opened links to your data too often lately. Open the link again after the time in Retry-After.\n",
        ),
        ExportError::NodeBusy => {
            (StatusCode::SERVICE_UNAVAILABLE, "Many ask for their data now. Open the link again in half a minute.\n")
        }
        ExportError::Store(error) => {
            tracing::error!(error = error as &dyn std::error::Error, "An export could not begin.");
            let text = "Something went wrong on our side. Open the link again in half a minute.\n";
            (StatusCode::SERVICE_UNAVAILABLE, text)
        }
    };
    if matches!(error, ExportError::ViewerBusy | ExportError::TooManyPoints(_) | ExportError::NodeBusy) {
        metrics::counter!(REFUSED, "bound" => "exports").increment(1);
    }
    let mut response = (status, [(header::CONTENT_TYPE, "text/plain; charset=utf-8")], text).into_response();
    let headers = response.headers_mut();
    match status {
        StatusCode::UNAUTHORIZED => {
            headers.insert(header::WWW_AUTHENTICATE, header::HeaderValue::from_static("Bearer"));
        }
        StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => {
            let seconds = match error {
                ExportError::TooManyPoints(wait) => wait.as_secs() + 1,
                _ => RETRY_AFTER,
            };
            headers.insert(header::RETRY_AFTER, header::HeaderValue::from(seconds));
        }
        _ => {}
    }
    response
}
