// Files that somebody chose for a post, on their way into the product's own store.
import type { MediaInput } from "@tidefeed/client";
import { type SignUpload, upload } from "@tidefeed/client/upload";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";

/** A file on its way. */
export interface Upload {
  key: string;
  file: File;
  /** The part that has been sent, from 0 to 1. */
  progress: number;
  /** What can be published, once it is stored. */
  media: MediaInput | null;
  /** Why it was not stored. */
  error: string | null;
}

export interface Uploads {
  uploads: readonly Upload[];
  /** What has been stored, in the order in which it was chosen, with its descriptions: for `publish({ media })`. */
  media: MediaInput[];
  /** Whether nothing is on its way and nothing has failed. */
  isReady: boolean;
  add: (files: Iterable<File>) => void;
  /** Describes it for people who cannot see it. */
  describe: (key: string, alt: string) => void;
  retry: (key: string) => void;
  /** Takes it away; what is on its way is broken off. */
  remove: (key: string) => void;
  /** Takes all away, as after publishing. */
  clear: () => void;
}

/** Stores files by the requests that `sign` gets from the product's backend. What is on its way when the component goes is broken off. */
export function useUploads(sign: SignUpload): Uploads {
  const [uploads, setUploads] = useState<readonly Upload[]>([]);
  const [alts, setAlts] = useState<Record<string, string>>({});
  const running = useRef(new Map<string, AbortController>());
  const change = useCallback((key: string, changes: Partial<Upload>) => {
    setUploads((all) => all.map((one) => (one.key === key ? { ...one, ...changes } : one)));
  }, []);
  const stop = useCallback((key: string) => {
    running.current.get(key)?.abort();
    running.current.delete(key);
  }, []);
  const begin = useCallback((key: string, file: File) => {
    const control = new AbortController();
    running.current.set(key, control);
    upload(file, sign, { signal: control.signal, onProgress: (progress) => { change(key, { progress }); } })
      .then((media) => { change(key, { media, progress: 1 }); }, (failure: Error) => { if (!control.signal.aborted) change(key, { error: failure.message }); });
  }, [change, sign]);
  const add = useCallback((files: Iterable<File>) => {
    const added = [...files].map((file): Upload => ({ key: crypto.randomUUID(), file, progress: 0, media: null, error: null }));
    setUploads((all) => [...all, ...added]);
    for (const { key, file } of added) begin(key, file);
  }, [begin]);
  const retry = useCallback((key: string) => {
    const found = uploads.find((one) => one.key === key && one.error !== null);
    if (found === undefined) return;
    change(key, { error: null, progress: 0 });
    begin(key, found.file);
  }, [begin, change, uploads]);
  const remove = useCallback((key: string) => {
    stop(key);
    setUploads((all) => all.filter((one) => one.key !== key));
  }, [stop]);
  const clear = useCallback(() => {
    for (const key of running.current.keys()) stop(key);
    setUploads([]);
  }, [stop]);
  const describe = useCallback((key: string, alt: string) => { setAlts((all) => ({ ...all, [key]: alt })); }, []);
  useEffect(() => clear, [clear]);
  return useMemo(() => {
    const media = uploads.flatMap((one) => (one.media === null ? [] : [{ ...one.media, alt: alts[one.key] ?? "" }]));
    return { uploads, media, isReady: media.length === uploads.length, add, describe, retry, remove, clear };
  }, [uploads, alts, add, describe, retry, remove, clear]);
}
