// What a browser has and Node before version 22 has not.
import WebSocket from "ws";

globalThis.WebSocket ??= WebSocket;
