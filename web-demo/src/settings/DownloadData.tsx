// One file with what the viewer has here.
import { useState } from "react";
import { describeFailure } from "../api/userErrors";
import { exportData } from "./exportData";

/** As a click on a link to a file does. */
function save(name: string, text: string) {
  const url = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  URL.revokeObjectURL(url);
}

export function DownloadData({ handle }: { handle: string }) {
  const [reading, setReading] = useState<string | null>(null);
  const [failure, setFailure] = useState<string | null>(null);

  async function download() {
    setFailure(null);
    try {
      const data = await exportData(setReading);
      save(`tidefeed-${handle}.json`, JSON.stringify(data, null, 2));
    } catch (error) {
      setFailure(describeFailure(error));
    } finally {
      setReading(null);
    }
  }

  return (
    <section className="card settings" aria-labelledby="download">
      <h2 id="download">Your data</h2>
      <p className="muted">
        One JSON file with your profile, sessions, posts, replies and reposts, bookmarks and likes, whom you follow and who follows you, and whom you keep out. Pictures are in it as links.
      </p>
      <div>
        <button type="button" className="button quiet small" disabled={reading !== null} onClick={() => { void download(); }} data-testid="download-data">
          Download my data
        </button>
      </div>
      <p role="status">{reading === null ? null : `Reading your ${reading} …`}</p>
      {failure !== null && <p role="alert" className="field-error">{failure}</p>}
    </section>
  );
}
