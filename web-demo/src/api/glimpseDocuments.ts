// What somebody who is not signed in may look at.
import { graphql } from "../gql";

export const GlimpseDocument = graphql(`
  query Glimpse($handle: String!) {
    user(handle: $handle) {
      following(first: 24) {
        nodes {
          id
          handle
          name
          avatarUrl
          contents(first: 2, filter: { kinds: [POST] }) {
            nodes {
              id
              text
              createdAt
              media { kind url width height alt }
              replyCount likeCount
            }
          }
        }
      }
    }
  }
`);
