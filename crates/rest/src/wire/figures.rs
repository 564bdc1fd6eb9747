//! The servers of the farm, and what one did lately, in numbers.

use model::{Code, Error, Result, Timestamp};
use repository::Server;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use http_core::figures::{COARSE, FIGURES, FINE, Figures, Span};
use http_core::protocol::time;

/// A server of the farm.
#[derive(Serialize, ToSchema)]
pub struct ServerJson {
    /// A name that no other start has.
    pub id: String,
    /// The machine.
    pub host: String,
    /// Where it listens.
    pub address: String,
    /// The version of the program.
    pub version: String,
    /// When it began to listen.
    pub started_at: String,
    /// When it last said that it runs.
    pub seen_at: String,
    /// Whether it has been silent for so long that it cannot be running in good order.
    pub gone: bool,
    /// Whether it is the one that answers.
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

/// Which samples are wanted.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct FiguresQuery {
    /// Seconds between two samples: `10` for the last hour, `120` for the last day.
    #[param(value_type = Option<super::rules::FigureStep>, default = 10)]
    step: Option<u64>,
    /// Only samples that are newer; all when absent. The last of `times` gives what came since.
    #[param(value_type = Option<super::rules::Time>)]
    since: Option<String>,
}

impl FiguresQuery {
    /// The span, and the time from which on.
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

/// Figures of the server that answers, over time. They begin with its start.
#[derive(Serialize, ToSchema)]
pub struct FiguresJson {
    /// The time of the answer.
    pub now: String,
    /// Since when the server runs.
    pub started_at: String,
    /// Seconds between two samples.
    pub step_seconds: u64,
    /// Seconds after which samples are forgotten.
    pub kept_seconds: u64,
    /// The time of each sample, oldest first: the end of the time that it is about.
    pub times: Vec<String>,
    /// The figures.
    pub figures: Vec<FigureJson>,
}

/// One figure.
#[derive(Serialize, ToSchema)]
pub struct FigureJson {
    /// What it is, such as `requests`.
    pub name: &'static str,
    /// `per_second`, `bytes_per_second`, `seconds`, `bytes` or `number`.
    pub unit: &'static str,
    /// A value for each of `times`; null where nothing happened that could be measured.
    pub values: Vec<Option<f64>>,
}

impl FiguresJson {
    /// What is kept of a span since then.
    pub fn of(figures: &Figures, span: Span, since: Timestamp) -> Self {
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
            kept_seconds: ring.step.as_secs() * ring.most as u64,
            times: samples.iter().map(|sample| time::format(sample.at)).collect(),
            figures: series.collect(),
        }
    }
}

/// To a millionth: more digits would only be more bytes.
fn rounded(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}
