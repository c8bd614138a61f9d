//! Fills a node with connections that send nothing, beside an honest client, and counts how often that one is served.
//! No time is asserted.

use std::net::Ipv4Addr;

use futures_util::future::join_all;

use super::*;

const ADDRESSES: u8 = 5;
const EACH: usize = 8;
const SETTINGS: &str = "max_connections = 40\nmax_connections_per_address = 8";
const HONEST: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 99);
/// The honest client asks so often, and has to be served so often.
const ASKED: usize = 10;
const SERVED: usize = 9;

/// A connection from this address of this machine.
async fn connect(served: &Served, from: Ipv4Addr) -> Result<Line> {
    let socket = TcpSocket::new_v4()?;
    socket.bind((from, 0).into())?;
    Ok(Line(socket.connect(served.peer.address().parse()?).await?))
}

/// Keeps a connection open that sends nothing, and opens another whenever the node closes it.
async fn idle(served: &Served, from: Ipv4Addr) {
    loop {
        if let Ok(Line(mut stream)) = connect(served, from).await {
            let _ = stream.read_to_end(&mut Vec::new()).await;
        }
    }
}

async fn is_served(served: &Served) -> Result<bool> {
    let mut line = connect(served, HONEST).await?;
    line.ask("", "application/json", "{ __typename }").await;
    Ok(line.answer().await.is_ok_and(|answer| answer.status == 200))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn idle_connections_of_a_few_addresses_shut_nobody_out() -> Result<()> {
    let served = Served::start_behind("[]", SETTINGS, None).await?;
    let addresses = (2..2 + ADDRESSES).flat_map(|host| [Ipv4Addr::new(127, 0, 0, host); EACH]);
    let filling = join_all(addresses.map(|from| idle(&served, from)));
    let honest = async {
        let open = async || served.peer.metric("tidefeed_connections").await;
        until("the node is full", async || Ok(open().await?.is_some_and(|open| open >= 40.0))).await?;
        let mut count = 0;
        for _ in 0..ASKED {
            count += usize::from(is_served(&served).await?);
        }
        ensure!(count >= SERVED, "{count} of {ASKED} were served");
        let cut = served.peer.metric(r#"tidefeed_connections_refused_total{reason="cut"}"#).await?;
        ensure!(cut.is_some_and(|cut| cut > 0.0), "the node was never full");
        Ok(())
    };
    tokio::select! {
        ended = honest => ended,
        _ = filling => bail!("the connections have ended"),
    }
}
