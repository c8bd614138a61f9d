/** What is wrong with the form as a whole; read out as soon as it appears. */
export function FormErrors({ messages }: { messages: readonly string[] }) {
  return (
    <div role="alert">
      {messages.map((message) => <p key={message} className="form-error" data-testid="form-error">{message}</p>)}
    </div>
  );
}
