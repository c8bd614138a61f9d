// What the viewer can change about how they sign in, and where they are signed in.
import { graphql } from "../gql";

export const SessionsDocument = graphql(`
  query Sessions {
    viewer { id sessions { id createdAt lastUsedAt expiresAt userAgent isCurrent } }
  }
`);

export const EndSessionDocument = graphql(`
  mutation EndSession($input: EndSessionInput!) {
    endSession(input: $input) {
      endedSessionCount
      userErrors { message code field }
    }
  }
`);

export const ChangePasswordDocument = graphql(`
  mutation ChangePassword($input: ChangePasswordInput!) {
    changePassword(input: $input) {
      endedSessionCount
      retryAt
      userErrors { message code field }
    }
  }
`);

export const ChangeHandleDocument = graphql(`
  mutation ChangeHandle($input: ChangeHandleInput!) {
    changeHandle(input: $input) {
      user { ...Profile }
      userErrors { message code field }
    }
  }
`);

export const ExportViewerDocument = graphql(`
  mutation ExportViewer {
    exportViewer {
      url
      userErrors { message code field }
    }
  }
`);
