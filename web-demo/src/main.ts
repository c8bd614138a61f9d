// The page's entry. What a signed-in reader sees first is asked for while the rest of the script is still on its way.
import { tidefeed } from "./api/tidefeed";
import { timelineOf } from "./api/timelineLists";
import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/forms.css";
import "./styles/layout.css";
import "./styles/posts.css";
import "./styles/people.css";
import "./styles/settings.css";
import "./styles/welcome.css";

// Both stay in use as long as the page is open: every page of a signed-in reader shows them.
if (tidefeed.session.getSnapshot().signedIn) {
  for (const { subscribe } of [timelineOf("EVERYTHING"), tidefeed.viewer]) subscribe(() => { /* shown by the page's own components */ });
}
const { show } = await import("./show");
show();
