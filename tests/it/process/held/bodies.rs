//! Tests incomplete request bodies.

use super::*;

const ONE: usize = 262_144;
const JSON: &str = "application/json";

/// A request of exactly `length` bytes.
fn padded(length: usize) -> Vec<u8> {
    let mut body = br#"{"query":"{ __typename }"}"#.to_vec();
    body.resize(length, b' ');
    body
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn incoming_bodies_are_bounded_per_address_and_per_node() -> Result<()> {
    let limits = format!("max_incoming_bytes = {}\nmax_incoming_bytes_per_address = {ONE}", ONE + ONE / 2);
    let served = Served::start(&limits, None).await?;
    let (body, part, more) = (padded(ONE), 100_000, 200_000);
    let begun = async |address: &str, bytes: usize| -> Result<Line> {
        let mut line = Line::to(&served.peer).await?;
        line.post((address, JSON), ONE, &padded(ONE)[..bytes]).await;
        Ok(line)
    };

    let mut whole = Line::to(&served.peer).await?;
    whole.post(("192.0.2.1", JSON), ONE, &body).await;
    ensure!(whole.answer().await?.status == 200, "a body counts once: it fills the room of its address, and fits");
    served.until_all_is_given_back().await?;

    let mut ann = begun("192.0.2.1", part).await?;
    served.until_held("bodies", part).await?;
    begun("192.0.2.1", more).await?.answer().await?.ensure_refused(429, "RATE_LIMITED")?;
    let bob = begun("192.0.2.2", part).await?;
    served.until_held("bodies", 2 * part).await?;
    // It would hold more than each of the others, so none of them gives way.
    begun("192.0.2.3", more).await?.answer().await?.ensure_refused(503, "INTERNAL_SERVER_ERROR")?;

    ann.0.write_all(&body[part..]).await?;
    ensure!(ann.answer().await?.status == 200, "who was let in is served");
    drop(bob);
    served.until_all_is_given_back().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_gives_back_its_room_however_it_ends() -> Result<()> {
    let limits = format!("max_incoming_bytes_per_address = {ONE}\nrequest_timeout_ms = 5000");
    let served = Served::start(&limits, None).await?;
    let body = padded(ONE);
    for end in ["left", "reset", "too long", "no JSON", "in time no more"] {
        let mut line = Line::to(&served.peer).await?;
        line.post(("192.0.2.1", JSON), ONE, &body[..200_000]).await;
        if end != "in time no more" {
            served.until_held("bodies", 200_000).await?;
        }
        match end {
            "left" => drop(line),
            "reset" => {
                line.0.set_zero_linger()?;
                drop(line);
            }
            "too long" => {
                let mut line = Line::to(&served.peer).await?;
                let head = "POST /graphql HTTP/1.1\r\nhost: a\r\nx-forwarded-for: 192.0.2.2\r\ncontent-type: application/json\r\n\
                            transfer-encoding: chunked\r\n\r\n40001\r\n";
                let _ = line.0.write_all(&[head.as_bytes(), &padded(0x4_0001)].concat()).await;
                let status = line.answer().await?.status;
                ensure!(status == 413, "{status}");
            }
            "no JSON" => {
                line.0.write_all(&vec![b'x'; ONE - 200_000]).await?;
                let status = line.answer().await?.status;
                ensure!(status == 400, "{status}");
            }
            _ => ensure!(line.answer().await?.status == 503),
        }
        served.until_all_is_given_back().await.context(end)?;
    }
    Ok(())
}
