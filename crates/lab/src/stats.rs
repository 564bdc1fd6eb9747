//! Statistics for the evaluation. Independent of runs.

/// Returns the median; 0 if empty.
pub fn median(values: &[f64]) -> f64 {
    quantile(values, 0.5)
}

/// Returns a quantile, 0 to 1; 0 if empty.
pub fn quantile(values: &[f64], at: f64) -> f64 {
    let mut sorted: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
    sorted.sort_by(f64::total_cmp);
    let Some(last) = sorted.len().checked_sub(1) else { return 0.0 };
    let place = at.clamp(0.0, 1.0) * last as f64;
    let (below, above) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    below + (above - below) * place.fract()
}

/// Returns the mean; 0 if empty.
pub fn mean(values: &[f64]) -> f64 {
    if values.is_empty() { 0.0 } else { values.iter().sum::<f64>() / values.len() as f64 }
}

/// Returns the standard deviation; 0 for fewer than two values.
pub fn deviation(values: &[f64]) -> f64 {
    if values.len() < 2 {
        return 0.0;
    }
    let middle = mean(values);
    (values.iter().map(|value| (value - middle).powi(2)).sum::<f64>() / (values.len() - 1) as f64).sqrt()
}

/// Returns the p-value: the probability that two samples from the same distribution differ as much as these or more
/// (Mann-Whitney, two-sided, by the normal approximation with ties). 1 if either has fewer than four values.
pub fn same_distribution(a: &[f64], b: &[f64]) -> f64 {
    let (n, m) = (a.len() as f64, b.len() as f64);
    if a.len() < 4 || b.len() < 4 {
        return 1.0;
    }
    let mut all: Vec<(f64, bool)> =
        a.iter().map(|value| (*value, true)).chain(b.iter().map(|value| (*value, false))).collect();
    all.sort_by(|x, y| x.0.total_cmp(&y.0));
    let (mut ranks, mut ties, mut at) = (0.0, 0.0, 0);
    while at < all.len() {
        let same = all[at..].iter().take_while(|(value, _)| *value == all[at].0).count();
        let rank = at as f64 + (same as f64 + 1.0) / 2.0;
        ranks += rank * all[at..at + same].iter().filter(|(_, of_a)| *of_a).count() as f64;
        ties += (same as f64).powi(3) - same as f64;
        at += same;
    }
    let whole = n + m;
    let spread = (n * m / 12.0 * (whole + 1.0 - ties / (whole * (whole - 1.0)))).sqrt();
    if spread == 0.0 {
        return 1.0;
    }
    let away = ((ranks - n * (n + 1.0) / 2.0 - n * m / 2.0).abs() - 0.5).max(0.0) / spread;
    2.0 * upper_tail(away)
}

/// Returns the probability that a standard normal value is above `z`, which must not be negative.
fn upper_tail(z: f64) -> f64 {
    // Abramowitz and Stegun, 26.2.17: the error is below 1e-7.
    let t = 1.0 / (1.0 + 0.231_641_9 * z);
    let series =
        t * (0.319_381_530 + t * (-0.356_563_782 + t * (1.781_477_937 + t * (-1.821_255_978 + t * 1.330_274_429))));
    (-z * z / 2.0).exp() / std::f64::consts::TAU.sqrt() * series
}

/// Returns `b / a` as a finite number from 0 to 1e12; 1 if both are equal.
pub fn ratio(a: f64, b: f64) -> f64 {
    if a == b { 1.0 } else { (b / a.max(1e-9)).clamp(0.0, 1e12) }
}

/// Returns the 95 % confidence interval of the ratio of two medians, by bootstrap. The same samples always give the
/// same draws.
pub fn ratio_interval(a: &[f64], b: &[f64]) -> (f64, f64) {
    const DRAWS: usize = 2_000;
    let mut random = fastrand::Rng::with_seed(95);
    let mut again = |values: &[f64]| {
        let drawn: Vec<f64> = values.iter().map(|_| values[random.usize(0..values.len())]).collect();
        median(&drawn)
    };
    if a.is_empty() || b.is_empty() {
        return (0.0, f64::INFINITY);
    }
    let ratios: Vec<f64> = (0..DRAWS).map(|_| ratio(again(a), again(b))).collect();
    (quantile(&ratios, 0.025), quantile(&ratios, 0.975))
}

/// Returns the autocorrelation of a series at a lag. The normalisation for the shorter overlap can take it slightly
/// beyond -1 to 1.
pub fn autocorrelation(values: &[f64], lag: usize) -> f64 {
    let middle = mean(values);
    let power: f64 = values.iter().map(|value| (value - middle).powi(2)).sum();
    if power == 0.0 || lag >= values.len() {
        return 0.0;
    }
    let pairs = values.iter().zip(&values[lag..]);
    let together: f64 = pairs.map(|(a, b)| (a - middle) * (b - middle)).sum();
    together / power * values.len() as f64 / (values.len() - lag) as f64
}

/// Returns the slope of the best-fitting line per value, and its goodness of fit (0 to 1).
pub fn trend(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    if values.len() < 3 {
        return (0.0, 0.0);
    }
    let (middle_x, middle_y) = ((n - 1.0) / 2.0, mean(values));
    let (mut xy, mut xx, mut yy) = (0.0, 0.0, 0.0);
    for (x, y) in values.iter().enumerate() {
        let (dx, dy) = (x as f64 - middle_x, y - middle_y);
        xy += dx * dy;
        xx += dx * dx;
        yy += dy * dy;
    }
    if yy == 0.0 { (0.0, 0.0) } else { (xy / xx, xy * xy / (xx * yy)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noise(seed: u64, around: f64, count: usize) -> Vec<f64> {
        let mut random = fastrand::Rng::with_seed(seed);
        (0..count).map(|_| around * (0.9 + 0.2 * random.f64())).collect()
    }

    #[test]
    fn samples_that_differ_are_told_apart_and_noise_is_not() {
        assert!(same_distribution(&noise(1, 100.0, 30), &noise(2, 115.0, 30)) < 0.001);
        let alarms = (0..200)
            .filter(|seed| same_distribution(&noise(seed * 2, 100.0, 30), &noise(seed * 2 + 1, 100.0, 30)) < 0.01);
        assert!(alarms.count() <= 8);
        assert_eq!(same_distribution(&[1.0; 10], &[1.0; 10]), 1.0);
        // The exact value is 0.0286; the approximation is close.
        let p = same_distribution(&[1.0, 2.0, 3.0, 4.0], &[5.0, 6.0, 7.0, 8.0]);
        assert!((0.02..0.04).contains(&p), "{p}");
    }

    #[test]
    fn an_interval_holds_the_true_ratio() {
        let (low, high) = ratio_interval(&noise(1, 100.0, 60), &noise(2, 120.0, 60));
        assert!(low < 1.2, "{low} {high}");
        assert!(1.2 < high, "{low} {high}");
        assert!(low > 1.1, "{low} {high}");
        assert!(high < 1.3, "{low} {high}");
        // With a median of zero the ratio has no bound, but remains a finite number.
        assert_eq!(ratio_interval(&[0.0; 9], &[5.0; 9]), (5e9, 5e9));
        assert_eq!((ratio(0.0, 0.0), ratio(1e-300, 1e300)), (1.0, 1e12));
    }

    #[test]
    fn trends_and_rhythms_are_found() {
        let rising: Vec<f64> = (0..30).map(|x| 100.0 + 5.0 * f64::from(x)).collect();
        let (slope, fit) = trend(&rising);
        assert!((slope - 5.0).abs() < 1e-9);
        assert!(fit > 0.999);
        let wave: Vec<f64> = (0..60).map(|x| (f64::from(x) * std::f64::consts::TAU / 10.0).sin()).collect();
        assert!(autocorrelation(&wave, 10) > 0.9);
        assert!(autocorrelation(&wave, 5) < -0.9);
    }
}
