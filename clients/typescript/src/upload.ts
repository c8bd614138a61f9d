// Puts a file into the product's own store by a request that its backend has signed (presigned URL), and tells what to publish. For browsers.
import type { MediaInput } from "./schema.js";

/** What the product's backend answers for a file: a request that may be sent once, and the address at which everybody finds the file afterwards. */
export interface SignedUpload {
  url: string;
  /** `PUT` by default. */
  method?: string;
  /** Sent as they are; those that are part of the signature must be among them. */
  headers?: Record<string, string>;
  publicUrl: string;
}

/** Asks the product's backend. Its error's message is shown. */
export type SignUpload = (file: File, signal: AbortSignal) => Promise<SignedUpload>;

export interface UploadOptions {
  signal?: AbortSignal;
  /** Called with the part that has been sent, from 0 to 1. */
  onProgress?: (part: number) => void;
}

/** Width and height of a picture or video in pixels. An error if the browser cannot show it. */
async function sizeOf(file: File): Promise<{ width: number; height: number }> {
  const url = URL.createObjectURL(file);
  try {
    if (file.type.startsWith("video/")) {
      const video = document.createElement("video");
      await new Promise((resolve, reject) => { Object.assign(video, { onloadedmetadata: resolve, onerror: reject, src: url }); });
      return { width: video.videoWidth, height: video.videoHeight };
    }
    const picture = new Image();
    await new Promise((resolve, reject) => { Object.assign(picture, { onload: resolve, onerror: reject, src: url }); });
    return { width: picture.naturalWidth, height: picture.naturalHeight };
  } catch {
    throw new Error(`${file.name} is not a picture or video that can be shown here.`);
  } finally {
    URL.revokeObjectURL(url);
  }
}

// `fetch` does not tell how much it has sent.
function send(file: File, { url, method = "PUT", headers = {} }: SignedUpload, signal: AbortSignal, onProgress: (part: number) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    const failed = (why: string) => () => { reject(new Error(`${file.name} was not stored: ${why}`)); };
    request.upload.onprogress = ({ loaded, total, lengthComputable }) => { if (lengthComputable) onProgress(loaded / total); };
    request.onload = () => {
      if (request.status >= 200 && request.status < 300) resolve();
      else failed(`the store answered ${request.status}.`)();
    };
    request.onerror = failed("the store does not answer, or refuses requests from this page.");
    request.onabort = () => { reject(signal.reason as Error); };
    signal.addEventListener("abort", () => { request.abort(); }, { once: true });
    request.open(method, url);
    for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value);
    request.send(file);
  });
}

/** Stores `file` by what `sign` answers; resolves to the medium for `publish({ media })`, without its description (`alt`). */
export async function upload(file: File, sign: SignUpload, { signal = new AbortController().signal, onProgress = () => {} }: UploadOptions = {}): Promise<MediaInput> {
  signal.throwIfAborted();
  const size = await sizeOf(file);
  const signed = await sign(file, signal);
  signal.throwIfAborted();
  await send(file, signed, signal, onProgress);
  return { kind: file.type.startsWith("video/") ? "VIDEO" : "PICTURE", url: signed.publicUrl, ...size };
}
