//! The certificates that a server presents, for `tidefeed doctor`: client libraries do not show them.

use std::{io, sync::Arc};

use rustls::pki_types::{CertificateDer, ServerName};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};
use tokio_rustls::TlsConnector;

use super::{CertificateFiles, client};

/// What is said before TLS begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Greeting {
    /// Nothing.
    None,
    /// A MySQL says who it is, and is asked for TLS.
    MySql,
}

/// MySQL's request for TLS: a packet of 32 bytes, the second of the connection. It names the capabilities
/// `PROTOCOL_41`, `SSL`, `SECURE_CONNECTION` and `PLUGIN_AUTH`, packets of 16 MiB at most,
/// and the character set utf8mb4.
const ASK_FOR_TLS: [u8; 36] = {
    let mut packet = [0; 36];
    (packet[0], packet[3]) = (32, 1);
    (packet[4], packet[5], packet[6]) = (0x00, 0x8a, 0x08);
    (packet[11], packet[12]) = (1, 45);
    packet
};

/// The certificates with which the server proves to be `host`, its own first. Fails as a connection would.
pub async fn presented(
    (host, port): (&str, u16),
    greeting: Greeting,
    files: &CertificateFiles,
) -> io::Result<Vec<CertificateDer<'static>>> {
    let connector = TlsConnector::from(Arc::new(client(files.clone()).map_err(io::Error::other)?));
    let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
    let mut socket = TcpStream::connect((host, port)).await?;
    if greeting == Greeting::MySql {
        let mut head = [0; 4];
        socket.read_exact(&mut head).await?;
        let size = u32::from_le_bytes([head[0], head[1], head[2], 0]);
        socket.read_exact(&mut vec![0; usize::try_from(size).unwrap_or(0)]).await?;
        socket.write_all(&ASK_FOR_TLS).await?;
    }
    let stream = connector.connect(name, socket).await?;
    let shown = stream.get_ref().1.peer_certificates().unwrap_or_default();
    Ok(shown.iter().cloned().map(CertificateDer::into_owned).collect())
}
