//! Writes log lines to standard error, as text or as one JSON object a line. Standard output belongs to the commands'
//! results.

use std::io::{self, IsTerminal};

use tracing::{Level, Metadata, Subscriber};
use tracing_subscriber::{
    EnvFilter, Layer, filter::filter_fn, fmt, layer::SubscriberExt, registry::LookupSpan, util::SubscriberInitExt,
};

use crate::config::{LogFormat, LogSettings};

/// Why log lines cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// The filter cannot be read.
    #[error("log.filter is not valid")]
    Filter(#[from] tracing_subscriber::filter::ParseError),
    /// The process has a subscriber already.
    #[error("another logger is already installed")]
    Taken(#[from] tracing_subscriber::util::TryInitError),
}

/// The library that writes the messages of WebSockets, tokens among them, at its most detailed level.
const MESSAGE_LOGGER: &str = "tungstenite";

/// Starts writing log lines for the whole process. Call it once.
pub fn start(settings: &LogSettings) -> Result<(), LogError> {
    let filter = EnvFilter::builder().parse(&settings.filter)?;
    let lines = lines(settings.format, io::stderr().is_terminal(), io::stderr);
    tracing_subscriber::registry().with(filter).with(filter_fn(is_no_message)).with(lines).try_init()?;
    Ok(())
}

/// Whether a line cannot contain what a client has sent, whatever `log.filter` asks for.
fn is_no_message(line: &Metadata<'_>) -> bool {
    *line.level() != Level::TRACE || !line.target().starts_with(MESSAGE_LOGGER)
}

fn lines<S, W>(format: LogFormat, colours: bool, writer: W) -> Box<dyn Layer<S> + Send + Sync>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    W: for<'w> fmt::MakeWriter<'w> + Send + Sync + 'static,
{
    let lines = fmt::layer().with_ansi(colours).with_writer(writer);
    match format {
        LogFormat::Text => lines.boxed(),
        LogFormat::Json => lines.json().flatten_event(true).with_current_span(true).with_span_list(false).boxed(),
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step fails the test")]
    use std::sync::{Arc, Mutex};

    use super::*;

    #[derive(Clone, Default)]
    struct Written(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Written {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn logged(format: LogFormat) -> String {
        let kept = Written::default();
        let writer = kept.clone();
        let subscriber = tracing_subscriber::registry().with(lines(format, false, move || writer.clone()));
        tracing::subscriber::with_default(subscriber, || {
            let _span = tracing::info_span!("request", request_id = "r1").entered();
            tracing::warn!(content = 7, "A delivery failed.");
        });
        let bytes = kept.0.lock().unwrap().clone();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn json_lines_are_objects_with_the_fields_of_event_and_span() {
        let line: serde_json::Value = serde_json::from_str(&logged(LogFormat::Json)).unwrap();
        assert_eq!(line["level"], "WARN");
        assert_eq!(line["content"], 7);
        assert_eq!(line["message"], "A delivery failed.");
        assert_eq!(line["span"]["request_id"], "r1");
    }

    #[test]
    fn text_lines_read_as_sentences() {
        let line = logged(LogFormat::Text);
        assert!(line.contains("WARN") && line.contains("A delivery failed. content=7"), "{line}");
    }
}
