// What the viewer's own profile lets them change.
import { graphql } from "../gql";

export const UpdateProfileDocument = graphql(`
  mutation UpdateProfile($input: UpdateProfileInput!) {
    updateProfile(input: $input) {
      user { ...Profile }
      userErrors { message code field }
    }
  }
`);
