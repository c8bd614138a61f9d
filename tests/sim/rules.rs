//! Lists the rules of docs/coverage.md. The models can break each one on purpose, in one place. A check must then
//! fail, which shows that the rule is needed and that the simulation notices.

use crate::{
    inbox_stores::Kind,
    plan::{self},
};

macro_rules! rules {
    ($($rule:ident $place:literal $words:literal;)+) => {
        /// A rule that can be broken; named by what happens then.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Rule {
            $(#[doc = $words] $rule,)+
        }

        impl Rule {
            pub const ALL: &[Self] = &[$(Self::$rule,)+];

            /// Where docs/coverage.md has it.
            pub const fn place(self) -> &'static str {
                match self { $(Self::$rule => $place,)+ }
            }

            /// What is done instead of what the rule says.
            pub const fn words(self) -> &'static str {
                match self { $(Self::$rule => $words,)+ }
            }
        }
    };
}
pub(crate) use rules;

rules! {
    NoRecord "P1" "a content is published without a delivery record";
    RecordInASecondTransaction "P1" "the delivery record is committed after the content";
    RecordOnlyIfPushed "P1" "no record for authors whom everybody seems to pull";
    KeysMayRepeat "P1" "an idempotency key is not looked up";
    RepostsMayRepeat "P1" "nobody looks for an earlier repost of the same";
    ImportWithoutRecord "P1" "imported contents come without delivery records";
    ImportKeepsOutboxVersion "Cache" "a batch of an import leaves the versions of outboxes as they are";
    ImportProgressBeforeRows "Imports" "an import's progress is committed before the rows of its batch";
    ImportedEdgeOfActiveReaderIsPush "Imported edges" "an imported edge is trusted although its reader's inbox has a floor";
    ImportedEdgeOfOutsideReaderIsPush "Imported edges" "an imported edge is trusted although its reader's inbox lies outside SQL";
    ImportedEdgeReadsBeforeLocking "Imported edges" "the reader's state is read before it is locked";
    ChainIsNumbered "D1" "ranges are counted from the first follower, not from the chain's end";
    BrokenChainIsExtended "D1" "the chain is read before its record is locked, and a range that is there is passed over";
    SmallEndsAtItsCount "D1" "a small delivery serves as many followers as were counted before its lock, not all there are";
    FillIsSkipped "D2" "deliveries pass over edges that are being filled";
    OpenFloorIsSkipped "D2" "deliveries pass over readers who trust nothing yet";
    BelowFloorIsSkipped "D2" "deliveries pass over readers whose floor lies above the content";
    UnseenAreSkipped "D2" "deliveries pass over readers by the clock";
    ProgressIsTheLastRow "D2" "progress ends at the last follower served, not at the range's end";
    ProgressBeforeRows "D2" "progress is committed before the rows";
    IncompleteChainIsFinished "D3" "a dispatcher learns that an incomplete chain is complete, so the delivery ends";
    LastSubtaskFinishes "D3" "the last subtask ends the delivery, whatever the others do";
    FirstServedAreAll "D3" "a delivery ends with those who are served first";
    SmallRecordGoesFirst "D3" "a small delivery's record goes in a transaction of its own, before the rows";
    FirstBatchIsAll "D3" "the last open subtask ends its delivery with its first batch";
    TakenCountsAsDone "D3" "subtasks that were taken count as done";
    LeasesNeverEnd "D3" "a subtask stays with an executor that died";
    NobodySweeps "D3" "no record is looked at again";
    FollowIsTrusted "F1" "a new edge is covered at once";
    FollowWithoutRecord "F1" "a follow leaves no pending relation";
    DeletedAuthorIsFollowed "F1" "nobody asks whether the author of a new edge still has an account";
    PromotionIsTrusted "Promote" "a promoted edge is covered at once";
    CoverOfAnyEdge "COVER" "edges that are not being filled are covered, too";
    CoverWithoutLock "COVER" "the reader's state is not locked";
    CoverReadsBeforeLocking "COVER" "floor and contents are read before the locks";
    CutCoverKeepsFloor "COVER" "the floor stays when the author's contents were cut";
    CoverInsertsOnlyNewest "COVER" "the insert has a limit of its own, beside the floor";
    AnyRelationIsDone "COVER" "a pending relation is deleted although the pair has changed again";
    FillingIsDone "COVER" "a pending relation is deleted although its edge is still to be filled, because SQL has lost the covering";
    CleanUpOfFollowed "X2" "rows of a followed author are cleared, too";
    CleanUpLooksBeforeLocking "X2" "the edge is looked at before the reader's state is locked";
    TrimLowersFloor "TRIM" "the floor becomes the oldest row kept, lower or not";
    TrimKeepsFloor "TRIM" "rows go and the floor stays";
    TrimReadsBeforeLocking "TRIM" "rows and floor are read before the lock";
    TrimWithoutLock "TRIM" "the reader's state is not locked";
    OffKeepsTheClaim "OFF" "deliveries pass over a reader whose floor still claims";
    ReturningIsTrusted "ON" "whoever comes back trusts the inbox as it was left";
    ExtendWithoutLock "EXTEND" "the reader's state is not locked";
    ExtendReadsBeforeLocking "EXTEND" "floor, edges and contents are read before the lock";
    ExtendIgnoresOff "EXTEND" "an inbox that is off is extended";
    CutExtensionReachesTheEnd "EXTEND" "the floor reaches the end although the contents were cut";
    SetLocksItsFirst "EXTEND" "of a set of readers, only the state of the first is locked";
    ShortWindowIsAll "EXTEND" "a window that has lost contents counts as all that there is below the floor";
    InFlightIsNotRead "Read F" "what is in flight is not read";
    RemovedInFlightIsShown "Read F" "what is in flight is shown although it was removed";
    InboxBeforeInFlight "Read F" "the inbox is read before what is in flight";
    FloorIsIgnored "Read U" "the inbox is trusted below its floor";
    FloorOfAnotherSnapshot "Read U" "the floor is read by a statement of its own";
    InboxOfAnybody "Read U" "rows are shown whoever is followed now";
    RemovedInInboxIsShown "Read U" "rows are shown although their content was removed";
    PulledInALaterSnapshot "Read Q" "pulled authors are read by name, without a look at the edges";
    ExcludedIsShown "Exclusions" "muted, hidden and blocked authors are shown";
    RepostsOfExcludedAreShown "Exclusions" "reposts of muted, hidden and blocked authors are shown";
    ExclusionsAreNotReported "Exclusions" "a node remembers who is left of the followed, and not that anybody is kept out";
    FollowLooksPastTheLock "Exclusions" "a follow looks for blocks before it locks the counts";
    AnyVersionIsBelieved "Cache" "a cached outbox is believed whatever its version";
    VersionDrawnAfterwards "Cache" "the version changes after the outbox";
    RemovalKeepsTheVersion "Cache" "a removal leaves the version as it is";
    RefillOfTwoSnapshots "Cache" "version and entries of a refill are of two snapshots";
    AnyChangeIsApplied "Cache" "a change is applied to whatever is cached";
    CutCacheClaimsAll "Cache" "a cached outbox that was cut counts as whole";
    AuthorsOfAnyVersion "Authors" "remembered authors are believed whatever their version";
    AuthorsOfTwoSnapshots "Authors" "the version is read after the authors, in a statement of its own";
    FollowKeepsVersion "Authors" "a follow leaves the version of the reader's authors as it is";
    UnfollowKeepsVersion "Authors" "an unfollow leaves the version as it is";
    DemotionKeepsVersion "Authors" "an edge that becomes Pull leaves the version as it is";
    ExclusionKeepsVersion "Authors" "a mute, a hide or a block leaves the version as it is";
    InclusionKeepsVersion "Authors" "lifting a mute, a hide or a block leaves the version as it is";
    UncoveredIsRemembered "Authors" "uncovered authors are not named: all remembered ones count as covered";
    NamedIsBelievedCovered "Read Q" "named authors count as covered: their outboxes are not read";
    RemovalLeavesCounters "Authors" "a removed content keeps its counters, which say that it exists";
    FallenRowsAreNotSeen "Authors" "the inbox is known up to the last row that passed, not the last that was read";
    FewInFlightAreAll "Authors" "what is in flight counts as read, although it was cut";
    StretchOfAnyVersion "Stretch" "remembered authors are believed in a stretch whatever their version";
    StretchIsAll "Stretch" "a timeline ends where the stretch of a page ends";
    CutStretchIsWhole "Stretch" "a stretch with more rows than are read counts as read";
    NothingAtBoundIsNothingBehind "Stretch" "nothing lies behind a page if no entry stands at its bound";
    ProfileKeepsVersion "Cards" "a changed profile keeps its version";
    LostContentShowsItself "Folding" "a content that the store has lost since the page's snapshot counts as an original";
    ProfileVersionIsCounted "Cards" "versions of profiles are counted, not drawn, so that one returns after SQL has lost a change";
    ProfileVersionIsReadApart "Cards" "a profile's version is read by a statement after the one that read the profile";
    ProfileVersionOfAnEarlierSnapshot "Cards" "the versions of a page's profiles are of an earlier snapshot than the page";
    ReactionKeepsVersion "Cards" "a reaction leaves the version of the reader's reactions as it is";
    ReactionsAreCounted "Cards" "versions of reactions are counted, not drawn, so that one returns after SQL has lost a reaction";
    ReactionsOfAnEarlierSnapshot "Cards" "remembered reactions are of an earlier snapshot than their version";
    StretchVersionIsReadApart "Stretch" "the version of the reader's reactions is of an earlier snapshot than the stretch";
    EpochStays "OUTSIDE" "a bucket is admitted again under the epoch that it had";
    AnyNodeAnswers "OUTSIDE" "scripts do not compare the node's identity";
    IdentityIsRemembered "OUTSIDE" "role and identity are those of an earlier look, not of the script's instant";
    ReplicaAnswers "OUTSIDE" "a replica answers as its master does";
    GenerationStays "OUTSIDE" "a reader enters the outside tier with the generation of the last stay";
    AnyTokenIsBelieved "OUTSIDE" "the header's token is not compared with the snapshot's";
    AnyGenerationIsBelieved "OUTSIDE" "the header's generation is not compared with the snapshot's";
    AnyBasisIsBelieved "OUTSIDE" "a claim counts although SQL has lost what it was read from";
    AfterIsNotRead "OUTSIDE" "the slice is read before the statement only";
    RowsAreNotCompared "OUTSIDE" "only the headers are compared, before and after";
    DeliveredBeforeCommit "OUTSIDE" "recipients are read before the content is committed";
    OutsideFillIsSkipped "OUTSIDE" "deliveries to outside inboxes pass over edges that are being filled";
    OutsideBelowFloorIsSkipped "OUTSIDE" "deliveries pass over outside inboxes whose floor lies above the content";
    UnclaimedIsSkipped "OUTSIDE" "deliveries pass over outside inboxes that claim nothing yet";
    OutsideProgressBeforeRows "OUTSIDE" "progress is committed before the rows are written outside";
    ProgressOfAnyAttempt "OUTSIDE" "progress counts although SQL has lost what the recipients were read from";
    OutsideTrimKeepsFloor "OUTSIDE" "rows of an outside inbox go and the floor stays";
    OutsideTrimLowersFloor "OUTSIDE" "the floor of an outside inbox becomes the lowest row kept, lower or not";
    TrimKeepsRevision "OUTSIDE" "rows go and the revision stays";
    OpeningKeepsRevision "OUTSIDE" "an inbox is opened over another without a new revision";
    RevisionIsCounted "OUTSIDE" "revisions are counted in each inbox, not drawn";
    LateScriptRepeatsRevision "OUTSIDE" "the next revision is the script's own number, whatever it finds, and a script runs twice";
    LateOpeningRepeatsRevision "OUTSIDE" "an opening that runs twice gives the same revision where there is no inbox";
    BuildReadsBeforeOpening "OUTSIDE" "contents are read before the inbox is opened";
    BuildOfPushedOnly "OUTSIDE" "a build passes over edges that are pulled or being filled";
    ClaimOfAnyRevision "OUTSIDE" "a build claims whatever the revision is";
    OutsideCutCoverKeepsFloor "OUTSIDE" "the floor of an outside inbox stays when the author's contents were cut";
    CoverKeepsRevision "OUTSIDE" "an author is covered without a new revision";
    CoverOfAnyIncarnation "OUTSIDE" "an edge becomes trusted although it is not the one that was covered";
    CoverKeepsIncarnation "OUTSIDE" "the covered edge keeps its identity, so that a lost reading goes unnoticed";
    CoverKeepsVersion "OUTSIDE" "a covering outside leaves the authors' version, so that its loss goes unnoticed";
    HeaderInAKeyOfItsOwn "OUTSIDE" "header and rows are two keys, which are evicted one by one";
    ClaimBeforeRows "Cassandra" "a build's claim is written before its rows";
    HeaderOfAnyRevision "Cassandra" "the header is set whatever its revision is";
    OneAcknowledges "Cassandra" "a delivery counts although no majority has acknowledged its row";
    RowsGoBeforeHeader "Cassandra" "the rows of the former fence go before the header names another";
    FenceIsUsedAgain "Cassandra" "an inbox is opened under a fence whose rows were removed";
    HeadersAreDeleted "Cassandra" "headers are deleted, and with them the memory of fences whose rows were removed";
    ConnectionIsTrusted "Commit" "a connection is used again although its transaction ended unasked, and a commit within the one that stays open counts";
    CommitIsAssumed "Commit" "a commit that failed or was not answered counts as done";
    PositionAskedBeforeTheRead "Replicas" "a read waits for the position that the read before has asked for";
    QuestionUnderWayIsJoined "Replicas" "a read joins a question that was sent before it began";
    CommitUnderWayIsLeftOut "Replicas" "a position leaves out what is being committed, although it is seen already";
    ReadOnlyServerAnswers "Replicas" "a server that takes no writes any longer says where the primary is";
    LateReplicaIsRead "Replicas" "a read that has waited for long enough runs on the replica all the same";
    ReplicaAppliesOutOfOrder "Replicas" "a replica commits in another order than the primary";
    ReplicaIsProvenOnce "Replicas" "a replica that was found fit stays so when the primary answers over another connection";
    ReplicaAheadIsRead "Replicas" "a replica is read although it holds commits that the primary lacks";
    DisconnectedReplicaIsRead "Replicas" "a replica is read although the primary refuses to send to it";
    PrimaryChangesUnderReads "Replicas" "a replica follows a new primary while reads that asked the former one run there";
    LossIsNotAnnounced "Live" "announcements are lost, and listeners get no gap in their place";
    RelationsAreNotAnnounced "Live" "changes of who is in a timeline are not announced";
    AnnouncedIsVisible "Live" "an announced content is sent to all who watch its author, visible or not";
    RepostsAreAnnouncedAsPosts "Live" "announcements do not name what a repost shows";
    InterestAfterRead "Live" "follows and timeline are read before the groups that a device watches are subscribed";
    WithdrawnTooEarly "Live" "a group is left when one of its users is not watched any more, although others are";
    FoldedCountsAsHeld "Live" "a token counts what was folded away as held";
    OnlyTheNewestIsTaken "Live" "a device takes only what is newer than all it holds, not what comes back";
}

impl Rule {
    /// Whether the world has what the rule is about: cards, a store that loses commits, interests in announcements,
    /// replicas, or inboxes outside SQL.
    pub fn is_of(self, seed: u64) -> bool {
        match (self, self.place()) {
            (Self::StretchVersionIsReadApart, _) | (_, "Cards") => plan::has_cards(seed),
            (Self::FillingIsDone | Self::LostContentShowsItself, _) => plan::loses_commits(seed),
            (Self::InterestAfterRead | Self::WithdrawnTooEarly, _) => plan::interest(seed).1 > 0,
            (Self::DeletedAuthorIsFollowed, _) => plan::has_leavers(seed),
            (Self::ImportedEdgeOfOutsideReaderIsPush, _) => plan::has_imports(seed) && plan::store_of(seed).is_some(),
            (rule, _) if format!("{rule:?}").starts_with("Import") => plan::has_imports(seed),
            (Self::PrimaryChangesUnderReads, _) => plan::has_replicas(seed) && seed.is_multiple_of(2),
            (_, "Replicas") => plan::has_replicas(seed),
            (_, "OUTSIDE") => plan::store_of(seed) == Some(Kind::Redis),
            (_, "Cassandra") => plan::store_of(seed) == Some(Kind::Cassandra),
            _ => true,
        }
    }

    /// Whether the walks of inboxes outside SQL show it broken, too. They are shorter, so that they show more.
    pub fn is_walked(self) -> bool {
        matches!(self.place(), "OUTSIDE" | "Cassandra")
    }
}
