import { useState } from "react";
import { errorAt, type UserError } from "../api/userErrors";
import { TextField } from "../parts/TextField";
import type { Picture } from "./drafts";

interface PictureFieldsProps {
  picture: Picture;
  onChange: (picture: Picture) => void;
  errors: readonly UserError[];
}

/** A picture's address and description, with a preview that also tells its size. */
export function PictureFields({ picture, onChange, errors }: PictureFieldsProps) {
  const [brokenUrl, setBrokenUrl] = useState<string | null>(null);
  const url = picture.url.trim();
  const broken = url !== "" && brokenUrl === url;
  const urlError = errorAt(errors, "url") ?? (broken ? "No picture was found at this address." : undefined);
  return (
    <div className="picture-fields">
      <TextField label="Address of the picture" name="url" type="url" placeholder="https://…" value={picture.url} autoFocus
        error={urlError} onChange={(event) => { onChange({ ...picture, url: event.target.value, size: null }); }} data-testid="picture-url" />
      <TextField label="Description" name="alt" value={picture.alt} hint="For those who cannot see it." error={errorAt(errors, "alt")}
        onChange={(event) => { onChange({ ...picture, alt: event.target.value }); }} data-testid="picture-alt" />
      {/^https?:\/\//.test(url) && !broken && (
        <img className="picture-preview" src={url} alt="" onError={() => { setBrokenUrl(url); }}
          onLoad={({ currentTarget: { naturalWidth, naturalHeight } }) => {
            const size = naturalWidth > 0 && naturalHeight > 0 ? { width: naturalWidth, height: naturalHeight } : null;
            onChange({ ...picture, size });
          }} />
      )}
    </div>
  );
}
