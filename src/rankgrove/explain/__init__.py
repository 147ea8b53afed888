"""Why a model ranks as it does."""
