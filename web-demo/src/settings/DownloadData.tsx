// One file with everything that the viewer has here. The server writes it, and the browser saves it as it comes.
import { useState } from "react";
import { ExportViewerDocument } from "../api/accountDocuments";
import { ask } from "../api/tidefeed";
import { describeFailure } from "../api/userErrors";
import { fromRoot } from "../root";

/** As a click on a link to a file does: the page stays, whatever the server answers. `path` begins where the server is. */
function save(path: string) {
  const link = document.createElement("a");
  link.href = fromRoot(path.slice(1));
  link.download = "";
  link.click();
}

export function DownloadData() {
  const [loading, setLoading] = useState(false);
  const [told, setTold] = useState<string | null>(null);
  const [failure, setFailure] = useState<string | null>(null);

  async function download() {
    setFailure(null);
    setTold(null);
    setLoading(true);
    try {
      const { exportViewer: payload } = await ask(ExportViewerDocument, {});
      if (payload?.url == null) throw new Error(payload?.userErrors[0]?.message ?? "There is no link to your data now. Try again.");
      save(payload.url);
      setTold("Your browser is saving the file.");
    } catch (error) {
      setFailure(describeFailure(error));
    } finally {
      setLoading(false);
    }
  }

  return (
    <section className="card settings" aria-labelledby="download">
      <h2 id="download">Your data</h2>
      <p className="muted">
        One JSON file with your profile, sessions, posts, replies and reposts, bookmarks and likes, whom you follow and who follows you, and whom you have muted, hidden from or blocked. Pictures are in it as links.
      </p>
      <div>
        <button type="button" className="button quiet small" disabled={loading} onClick={() => { void download(); }} data-testid="download-data">
          Download my data
        </button>
      </div>
      <p role="status">{told}</p>
      {failure !== null && <p role="alert" className="field-error">{failure}</p>}
    </section>
  );
}
