import { useState } from "react";
import { describeFailure, type UserError } from "../api/userErrors";

/** Runs what the viewer asks for, and keeps why it did not happen. What it shows meanwhile, and takes back, is the package's. */
export function useAction() {
  const [refusal, setRefusal] = useState<string | null>(null);
  const run = (errors: Promise<readonly UserError[]>) => {
    setRefusal(null);
    errors.then((refused) => { setRefusal(refused[0]?.message ?? null); }, (error: unknown) => { setRefusal(describeFailure(error)); });
  };
  return { refusal, run };
}
