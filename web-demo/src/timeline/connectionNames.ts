import type { ConnectionState } from "@tidefeed/client";

export const CONNECTION_NAMES: Record<ConnectionState, string> = {
  idle: "Connecting…", connecting: "Connecting…", live: "Live", reconnecting: "Reconnecting…", offline: "Offline",
};
