// Everything that the API tells the viewer about themselves, as one value.
import {
  ExportBlockedDocument, ExportBookmarksDocument, ExportContentsDocument, ExportFollowersDocument, ExportFollowingDocument, ExportHiddenDocument,
  ExportLikesDocument, ExportMutedDocument, ExportProfileDocument,
} from "../api/exportDocuments";
import { ask } from "../api/tidefeed";
import type { TypedDocumentString } from "../gql/graphql";

interface Page {
  nodes?: readonly unknown[];
  edges?: readonly unknown[];
  pageInfo: { hasNextPage: boolean; endCursor?: string | null };
}
type Listed = TypedDocumentString<{ viewer?: { list?: Page | null } | null }, { after?: string | null }>;

const LISTS: Readonly<Record<string, Listed>> = {
  contents: ExportContentsDocument,
  bookmarks: ExportBookmarksDocument,
  likes: ExportLikesDocument,
  following: ExportFollowingDocument,
  followers: ExportFollowersDocument,
  muted: ExportMutedDocument,
  blocked: ExportBlockedDocument,
  hiddenFrom: ExportHiddenDocument,
};

/** The whole list, page after page. */
async function whole(document: Listed): Promise<unknown[]> {
  const all: unknown[] = [];
  for (let after: string | null = null; ;) {
    const page: Page | null | undefined = (await ask(document, { after })).viewer?.list;
    if (page == null) throw new Error("A list cannot be read now.");
    all.push(...(page.nodes ?? page.edges ?? []));
    if (!page.pageInfo.hasNextPage) return all;
    after = page.pageInfo.endCursor ?? null;
  }
}

/** `tell` hears what is read, list by list. */
export async function exportData(tell: (what: string) => void): Promise<Record<string, unknown>> {
  tell("profile");
  const profile = (await ask(ExportProfileDocument, {})).viewer;
  if (profile == null) throw new Error("Your profile cannot be read now.");
  const data: Record<string, unknown> = { exportedAt: new Date().toISOString(), profile };
  for (const [name, document] of Object.entries(LISTS)) {
    tell(name);
    data[name] = await whole(document);
  }
  return data;
}
