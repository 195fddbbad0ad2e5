"""`dlf worker`: what dlf does inside a training container, around the user's command.

Its memory is held for as long as the training runs, so nothing here imports msgspec, httpx or
asyncio; `flags` does, and runs in a child process that ends at once.
"""
