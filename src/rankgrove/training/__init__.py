"""What every fit shares, whatever it learns: checked input, watched sets, steps, progress."""
