//! A load balancer before several servers of one cluster: it connects each client to the next of them.

use std::thread;

use anyhow::{Context as _, Result};
use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
};

/// Connects clients until this process ends. Returns its port on 127.0.0.1.
pub(super) fn start(servers: Vec<String>) -> Result<u16> {
    let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
    listener.set_nonblocking(true)?;
    let port = listener.local_addr()?.port();
    // Of no test's runtime, because it outlives the test that has asked for it.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    let balance = move || runtime.block_on(balance(listener, servers));
    thread::Builder::new().name("balancer".into()).spawn(balance).context("no thread for the balancer")?;
    Ok(port)
}

async fn balance(listener: std::net::TcpListener, servers: Vec<String>) -> Result<()> {
    let listener = TcpListener::from_std(listener)?;
    for server in servers.iter().cycle() {
        // A client that has gone before it was accepted is no reason to end.
        if let Ok((client, _)) = listener.accept().await {
            tokio::spawn(carry(client, server.clone()));
        }
    }
    Ok(())
}

/// Until both sides have ended.
async fn carry(mut client: TcpStream, server: String) -> Result<()> {
    let mut server = TcpStream::connect(server).await?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    copy_bidirectional(&mut client, &mut server).await?;
    Ok(())
}
