import { notify, useNotice } from "./notices";

/** Read out as it comes; the region is always there. */
export function Notices() {
  const notice = useNotice();
  return (
    <div role="status">
      {notice !== null && (
        <p data-testid="notice">
          <span>{notice.text}</span>
          {notice.action !== undefined && (
            <button type="button" className="link" onClick={() => {
              notify(null);
              notice.action?.act();
            }} data-testid="notice-action">{notice.action.name}</button>
          )}
        </p>
      )}
    </div>
  );
}
