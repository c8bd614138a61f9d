import { useState } from "react";
import { pictureFrom } from "../content/pictures";
import { Icon } from "../parts/Icon";
import { TextField } from "../parts/TextField";
import { type Picture, refusedAddress } from "./drafts";

interface PictureFieldsProps {
  picture: Picture;
  /** From 1. */
  number: number;
  onChange: (picture: Picture) => void;
  onRemove: () => void;
  /** What the server has refused. */
  errors: { url: string | undefined; alt: string | undefined };
}

/** A picture's address and description, with a preview that also tells its size. */
export function PictureFields({ picture, number, onChange, onRemove, errors }: PictureFieldsProps) {
  const [brokenUrl, setBrokenUrl] = useState<string | null>(null);
  const url = picture.url.trim();
  const refused = refusedAddress(url);
  const broken = url !== "" && brokenUrl === url;
  const urlError = errors.url ?? refused ?? (broken ? "There is no picture at this address." : undefined);
  return (
    <fieldset className="picture-fields" data-testid="picture">
      <legend className="unseen">{`Picture ${number}`}</legend>
      <TextField label="Address of the picture" name="url" type="url" placeholder="https://…" value={picture.url} autoFocus={url === ""}
        error={urlError} onChange={(event) => { onChange({ ...picture, url: event.target.value, size: null }); }} data-testid="picture-url" />
      <TextField label="Description" name="alt" value={picture.alt} hint="For people who cannot see it." error={errors.alt}
        onChange={(event) => { onChange({ ...picture, alt: event.target.value }); }} data-testid="picture-alt" />
      {url !== "" && refused === undefined && !broken && (
        <img className="picture-preview" src={pictureFrom(url)} alt={picture.alt} onError={() => { setBrokenUrl(url); }} data-testid="picture-preview"
          onLoad={({ currentTarget: { naturalWidth, naturalHeight } }) => {
            const size = naturalWidth > 0 && naturalHeight > 0 ? { width: naturalWidth, height: naturalHeight } : null;
            onChange({ ...picture, size });
          }} />
      )}
      <button type="button" className="link" onClick={onRemove} data-testid="picture-remove"><Icon name="cross" /> Remove this picture</button>
    </fieldset>
  );
}
