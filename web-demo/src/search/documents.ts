// What the search asks for.
import { graphql } from "../gql";

export const SearchDocument = graphql(`
  query Search($text: String!, $after: String) {
    search(text: $text, first: 20, after: $after) {
      edges { cursor node { ...Post } }
      pageInfo { hasNextPage endCursor }
    }
  }
`);
