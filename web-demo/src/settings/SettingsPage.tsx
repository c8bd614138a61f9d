// What the viewer decides about their account. What others see of them is changed on their profile.
import { tidefeed } from "../api/tidefeed";
import { fromRoot } from "../root";
import { Icon } from "../parts/Icon";
import { PageHead } from "../parts/PageHead";
import { exclusionsPath, profilePath } from "../routing";
import { ChangeHandle } from "./ChangeHandle";
import { ChangePassword } from "./ChangePassword";
import { forgetDrafts } from "../timeline/drafts";
import { DeleteAccount } from "./DeleteAccount";
import { DownloadData } from "./DownloadData";
import { Sessions } from "./Sessions";

export function SettingsPage({ handle }: { handle: string }) {
  return (
    <>
      <title>Settings · Tidefeed</title>
      <PageHead title="Settings" />
      <p className="settings-leave">
        <a className="button quiet small" href={fromRoot("graphiql/")}><Icon name="graph" /> GraphiQL</a>
        <button type="button" className="button quiet small" onClick={() => { forgetDrafts(); tidefeed.session.signOut(); }}><Icon name="leave" /> Sign out</button>
      </p>
      <Sessions />
      <ChangePassword />
      <ChangeHandle handle={handle} />
      <DownloadData />
      <DeleteAccount handle={handle} />
      <p className="muted">
        Your name, words and picture are changed <a href={profilePath(handle)}>on your profile</a>. You can also
        see <a href={exclusionsPath("mute")}>the people you have muted, hidden from or blocked</a>.
      </p>
    </>
  );
}
