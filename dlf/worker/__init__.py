"""`dlf worker`: what dlf does inside a training container, beside and before the user's command.

It stays small: it lives as long as the training, so nothing here imports msgspec, httpx or asyncio.
"""
