//! The servers of the farm, and the recent metrics of one of them.

use model::{Code, Error, Result, Timestamp};
use repository::Server;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use http_core::figures::{COARSE, FIGURES, FINE, MetricsHistory, Span};
use http_core::protocol::time;

/// A server of the farm.
#[derive(Serialize, ToSchema)]
pub struct ServerJson {
    /// Identifier, unique to this start of the server.
    pub id: String,
    /// Host name of the machine.
    pub host: String,
    /// Address on which it listens.
    pub address: String,
    /// Version of the program.
    pub version: String,
    /// Time since which it has been listening.
    pub started_at: String,
    /// Time of its last heartbeat.
    pub seen_at: String,
    /// True if it has been silent for too long to be running properly.
    pub gone: bool,
    /// True if it is the server that responds.
    pub here: bool,
}

impl From<Server> for ServerJson {
    fn from(server: Server) -> Self {
        Self {
            id: server.id.to_string(),
            host: server.host,
            address: server.address,
            version: server.version,
            started_at: time::format(server.started_at),
            seen_at: time::format(server.seen_at),
            gone: server.gone,
            here: server.here,
        }
    }
}

/// Selection of samples.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct FiguresQuery {
    /// Seconds between two samples: `10` for the last hour, `120` for the last day.
    #[param(value_type = Option<super::rules::FigureStep>, default = 10)]
    step: Option<u64>,
    /// Only newer samples; all when absent. Pass the last of `times` to get the samples since then.
    #[param(value_type = Option<super::rules::Time>)]
    since: Option<String>,
}

impl FiguresQuery {
    /// Returns the span, and the time after which samples are wanted.
    pub fn read(&self) -> Result<(Span, Timestamp)> {
        let span = match self.step {
            None => Span::Fine,
            Some(step) if step == FINE.step.as_secs() => Span::Fine,
            Some(step) if step == COARSE.step.as_secs() => Span::Coarse,
            Some(_) => return Err(Error::invalid("step is 10 or 120").with_code(Code::InvalidQuery)),
        };
        let since = self.since.as_deref().map(time::parse).transpose()?;
        Ok((span, since.unwrap_or(Timestamp::from_micros(i64::MIN))))
    }
}

/// Metrics of the responding server over time. They begin when it starts.
#[derive(Serialize, ToSchema)]
pub struct FiguresJson {
    /// Time of the response.
    pub now: String,
    /// Time at which the server started.
    pub started_at: String,
    /// Seconds between samples.
    pub step_seconds: u64,
    /// Seconds after which samples are discarded.
    pub kept_seconds: u64,
    /// Time of each sample, oldest first: the end of the interval that it covers.
    pub times: Vec<String>,
    /// The metrics.
    pub figures: Vec<FigureJson>,
}

/// One metric.
#[derive(Serialize, ToSchema)]
pub struct FigureJson {
    /// Name of the metric, such as `requests`.
    pub name: &'static str,
    /// `per_second`, `bytes_per_second`, `seconds`, `bytes` or `number`.
    pub unit: &'static str,
    /// A value for each of `times`; null where there was nothing to measure.
    pub values: Vec<Option<f64>>,
}

impl FiguresJson {
    /// Returns the kept samples of a span that are newer than `since`.
    pub fn of(figures: &MetricsHistory, span: Span, since: Timestamp) -> Self {
        let (samples, ring) = (figures.samples(span, since), span.ring());
        let series = FIGURES.iter().enumerate().map(|(at, figure)| FigureJson {
            name: figure.name,
            unit: figure.unit.as_str(),
            values: samples.iter().map(|sample| sample.values[at].map(rounded)).collect(),
        });
        Self {
            now: time::format(Timestamp::now()),
            started_at: time::format(figures.started_at()),
            step_seconds: ring.step.as_secs(),
            kept_seconds: ring.step.as_secs() * ring.capacity as u64,
            times: samples.iter().map(|sample| time::format(sample.at)).collect(),
            figures: series.collect(),
        }
    }
}

/// Rounds to a millionth. More digits would only add bytes.
fn rounded(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}
