// What the viewer decides about their account. What others see of them is changed on their profile.
import { PageHead } from "../parts/PageHead";
import { boundariesPath, profilePath } from "../routing";
import { ChangeHandle } from "./ChangeHandle";
import { ChangePassword } from "./ChangePassword";
import { Sessions } from "./Sessions";

export function SettingsPage({ handle }: { handle: string }) {
  return (
    <>
      <title>Settings · Tidefeed</title>
      <PageHead title="Settings" />
      <Sessions />
      <ChangePassword />
      <ChangeHandle handle={handle} />
      <p className="muted">
        Your name, words and picture are changed <a href={profilePath(handle)}>on your profile</a>. You can also
        see <a href={boundariesPath("mute")}>whom you have muted, hide from or have blocked</a>.
      </p>
    </>
  );
}
