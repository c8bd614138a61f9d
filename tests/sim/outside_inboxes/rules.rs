//! The rules of outside inboxes, each broken on purpose.

use super::walk::Store;

crate::rules::rules! {
    EpochStays "Token" "a bucket is admitted again under the epoch that it had";
    AnyNodeAnswers "Token" "scripts do not compare the node's identity";
    IdentityIsRemembered "Token" "role and identity are those of an earlier look, not of the script's instant";
    ReplicaAnswers "Token" "a replica answers as its master does";
    GenerationStays "Tier" "a reader enters the outside tier with the generation of the last stay";
    AnyTokenIsBelieved "Read" "the header's token is not compared with the snapshot's";
    AnyGenerationIsBelieved "Read" "the header's generation is not compared with the snapshot's";
    AnyBasisIsBelieved "Read" "a claim counts although SQL has lost what it was read from";
    AfterIsNotRead "Read" "the slice is read before the statement only";
    RowsAreNotCompared "Read" "only the headers are compared, before and after";
    DeliveredBeforeCommit "Deliver" "recipients are read before the content is committed";
    FillIsSkipped "Deliver" "deliveries pass over edges that are being filled";
    BelowFloorIsSkipped "Deliver" "deliveries pass over inboxes whose floor lies above the content";
    UnclaimedIsSkipped "Deliver" "deliveries pass over inboxes that claim nothing yet";
    ProgressBeforeRows "Deliver" "progress is committed before the rows are written";
    ProgressOfAnyAttempt "Deliver" "progress counts although SQL has lost what the recipients were read from";
    TrimKeepsFloor "Trim" "rows go and the floor stays";
    TrimLowersFloor "Trim" "the floor becomes the lowest row kept, lower or not";
    TrimKeepsRevision "Trim" "rows go and the revision stays";
    OpeningKeepsRevision "Build" "an inbox is opened over another without a new revision";
    RevisionIsCounted "Build" "revisions are counted in each inbox, not drawn";
    LateScriptRepeatsRevision "Build" "the next revision is the script's own number, whatever it finds, and a script runs twice";
    LateOpeningRepeatsRevision "Build" "an opening that runs twice gives the same revision where there is no inbox";
    BuildReadsBeforeOpening "Build" "contents are read before the inbox is opened";
    BuildOfPushedOnly "Build" "a build passes over edges that are pulled or being filled";
    BuildWithoutPulled "Build" "a build passes over edges that are pulled";
    ClaimOfAnyRevision "Build" "a build claims whatever the revision is";
    ExtendOfAnyBasis "Extend" "an extension keeps a claim that SQL has lost the basis of";
    CutCoverKeepsFloor "Cover" "the floor stays when the author's contents were cut";
    CoverKeepsRevision "Cover" "an author is covered without a new revision";
    CoverOfAnyIncarnation "Cover" "an edge becomes trusted although it is not the one that was covered";
    CoverKeepsIncarnation "Cover" "the covered edge keeps its identity, so that a lost reading goes unnoticed";
    CleanOfAnyRevision "Clean" "an unfollowed author's rows go whatever the revision is";
    CleanKeepsBasis "Clean" "rows go and the basis stays, so that a lost unfollow goes unnoticed";
    AuthorsOfAnyVersion "Authors" "remembered authors are believed whatever their version";
    UncoveredIsRemembered "Authors" "remembered authors count as covered, whatever their edges";
    CoverKeepsVersion "Authors" "a covering leaves the authors' version, so that its loss goes unnoticed";
    HeaderInAKeyOfItsOwn "Store" "header and rows are two keys, which are evicted one by one";
    ClaimBeforeRows "Cassandra" "a build's claim is written before its rows";
    HeaderOfAnyRevision "Cassandra" "the header is set whatever its revision is";
    OneAcknowledges "Cassandra" "a delivery counts although no majority has acknowledged its row";
    RowsGoBeforeHeader "Cassandra" "the rows of the former fence go before the header names another";
    FenceIsUsedAgain "Cassandra" "an inbox is opened under a fence whose rows were removed";
    HeadersAreDeleted "Cassandra" "headers are deleted, and with them the memory of fences whose rows were removed";
    RowsAreRemoved "Cassandra" "an unfollowed author's rows are removed one by one";
}

impl Rule {
    /// The store in which it is broken.
    pub fn store(self) -> Store {
        if self.place() == "Cassandra" { Store::Cassandra } else { Store::Redis }
    }

    /// Whether no walk has shown it broken yet: `directed.rs` shows it.
    pub const fn is_rare(self) -> bool {
        matches!(self, Self::BuildWithoutPulled | Self::CoverKeepsIncarnation | Self::CleanOfAnyRevision)
    }
}
