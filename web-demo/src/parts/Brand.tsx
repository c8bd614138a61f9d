export function Brand() {
  return (
    <span className="brand">
      <svg viewBox="0 0 32 32" aria-hidden="true">
        <rect width="32" height="32" rx="9" />
        <path d="M6 11.5c3.3-3 6.7-3 10 0s6.7 3 10 0" />
        <path d="M6 17.5c3.3-3 6.7-3 10 0s6.7 3 10 0" opacity=".75" />
        <path d="M6 23.5c3.3-3 6.7-3 10 0s6.7 3 10 0" opacity=".45" />
      </svg>
      <span className="brand-name">Tidefeed</span>
    </span>
  );
}
