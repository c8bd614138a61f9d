export function SkipLink() {
  return (
    <a className="skip-link" href="#main" onClick={(event) => {
      event.preventDefault();
      document.getElementById("main")?.focus();
    }}>Skip to the content</a>
  );
}
